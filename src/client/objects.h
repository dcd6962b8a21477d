// The objects this client can send: scattered values and large arguments, named by content. Kept while a Ref or a live
// task needs them, so that they can be sent again after a lease is lost. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "client/memory.h"
#include "pounce/ids.h"

namespace pounce::client {

struct Object {
  Buffer pickle;
  std::vector<Buffer> buffers;
  std::uint64_t total_bytes() const;
};

class Objects {
 public:
  // One more holder; the data is taken the first time.
  void hold(const ObjectId& id, Object object);
  bool hold(const ObjectId& id);  // false: not here
  void release(const ObjectId& id);
  const Object* find(const ObjectId& id) const;

 private:
  struct Entry {
    Object object;
    std::uint32_t holders = 0;
  };
  std::unordered_map<ObjectId, Entry> entries_;
};

}  // namespace pounce::client
