// The objects this client can send: scattered values and large arguments, named by content. Kept while a Ref or a live
// task needs them, so that they can be sent again after a lease is lost. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/memory.h"
#include "memory/packing.h"
#include "pounce/ids.h"

namespace pounce::client {

struct Object {
  Buffer pickle;
  std::vector<Buffer> buffers;
  std::string device{};  // of the worker, that its buffers are to lie on; empty: in its memory
  bool of_result = false;  // of the task of that name: no other data has this name, and none will
  // What workers of this machine are handed. The first one's is its own; the next one's is kept for all that come behind it.
  struct Copies {
    std::weak_ptr<std::optional<memory::Packing>> under_way;
    std::shared_ptr<std::optional<memory::Packing>> kept;
    bool is_asked_for_again = false;
  };
  mutable Copies copies{};
  std::uint64_t total_bytes() const;
};

// Who gave data holds it under a number of its own: equal data of two is one object, sent from the memory of one of them, and only
// until that one lets go of it. From then on it may be changed.
using HolderNumber = std::uint64_t;

class Objects {
 public:
  HolderNumber hold(const ObjectId& id, Object object);
  void release(const ObjectId& id, HolderNumber holder);
  // A task that needs it, and brought nothing.
  bool hold(const ObjectId& id);  // false: not here
  void release(const ObjectId& id);
  const Object* find(const ObjectId& id) const;

 private:
  struct Copy {
    HolderNumber holder = 0;  // 0: let go of, and the last one while tasks need it
    Object object;
  };
  struct Entry {
    std::vector<Copy> copies;  // one at least
    std::uint32_t tasks = 0;
    bool is_held() const { return tasks > 0 || copies.front().holder != 0; }
  };
  std::unordered_map<ObjectId, Entry> entries_;
  HolderNumber last_ = 0;
};

}  // namespace pounce::client
