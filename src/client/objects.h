// The objects that a client sends: scattered values and large arguments, named by their content. Their buffers go out
// without a copy. Thread: any for memory; the leader token's holder for Objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "memory/block_pool.h"
#include "memory/memory_block.h"
#include "model/ids.h"
#include "transport/frame.h"

namespace pounce::client {

// Where objects are copied for workers of this machine, which each give it back by letting go of it. Of this process,
// for all its clients.
memory::BlockPool& blocks_for_workers();

// Memory of our own that workers of this machine can have without a copy. Null: there is not enough. Thread: any.
std::shared_ptr<memory::View> sharable_memory(std::size_t size);
// The one that these bytes lie in, if any does.
std::shared_ptr<memory::View> sharable_memory_of(std::span<const std::byte> bytes);

WritableBytes to_memory(transport::Frame frame);

// Its id: the digest of its pickle and its buffers.
ObjectId digest_object(const Bytes& pickle, std::span<const Bytes> buffers);

// Objects are kept while a Ref or a live task needs them, so that they can be sent again after a lease is lost.
struct Object {
  Bytes pickle;
  std::vector<Bytes> buffers;
  std::string device{};                      // the device of the worker for its buffers; empty: the worker's memory
  bool of_result = false;                    // the result of the task of that name: no other data ever has this name
  std::shared_ptr<memory::View> sharable{};  // all of it that is not small lies there; null: in other memory
  // The copies for workers of this machine. The first worker's copy is its own; the next one's is kept for all later
  // ones.
  struct Copies {
    std::weak_ptr<std::optional<memory::Packing>> under_way;
    std::shared_ptr<std::optional<memory::Packing>> kept;
    bool has_been_sent = false;
  };
  mutable Copies copies{};
  std::uint64_t total_bytes() const;
};

// Each caller holds data under its own number, so that equal data of two callers is one object. It is sent from the
// memory of one of them, and only until that caller lets go of it. From then on that memory may change.
using HolderNumber = std::uint64_t;

class Objects {
 public:
  HolderNumber hold(const ObjectId& id, Object object);
  void release(const ObjectId& id, HolderNumber holder);
  // For a task that needs the object and brought no data.
  bool hold(const ObjectId& id);  // false: not here
  void release(const ObjectId& id);
  const Object* find(const ObjectId& id) const;

 private:
  struct Copy {
    HolderNumber holder = 0;  // 0: let go of, and kept as the last one while tasks need it
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
