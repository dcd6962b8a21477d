// What clients sent for tasks to use, by content hash: functions, and immutable objects. Several sessions may hold the
// same one; it goes when the last one drops it. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "bulk/exchange.h"
#include "device/transfer.h"
#include "memory/block_pool.h"
#include "memory/cgroup.h"
#include "memory/kept_view.h"
#include "memory/memory_block.h"
#include "model/ids.h"
#include "pounce/error.h"

namespace pounce::worker {

// The functions. A task that has arrived keeps its own.

// The content of a client's `function` message.
struct KeptFunction {
  std::shared_ptr<const std::string> bytes;  // its pickle, or a command line
  bool command = false;
};

class FunctionStore {
 public:
  // False: the id is not the digest of these bytes. Nothing is kept then, else one session's function could replace
  // another's.
  bool add(const SessionId& session, const FunctionId& id, std::string_view bytes, bool command);
  const KeptFunction* find(const FunctionId& id) const;  // null: not here
  void drop(const SessionId& session, const FunctionId& id);
  void drop_all(const SessionId& session);
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Value {
    KeptFunction function;
    std::set<SessionId> holders;
  };
  using Values = std::map<FunctionId, Value>;
  Values::iterator drop(const SessionId& session, Values::iterator value);  // returns the next one

  Values functions_;
  std::uint64_t bytes_ = 0;
};

// The objects. Each is a small pickle and the buffers that its arrays live in. An object is received per session, so
// that one client's broken connection cannot spoil another's copy.

struct ObjectUse {  // by one task: no other one sees what it writes
  WritableBytes pickle;
  std::vector<WritableBytes> buffers;
  device::Buffers on_device{};  // instead of `buffers`
};

struct ObjectOffer {  // the content of an announcement
  ObjectId object;
  std::string pickle;
  std::vector<std::uint64_t> sizes;
  bool pickle_follows = false;                   // then sizes[0] is the pickle's
  std::shared_ptr<memory::MemoryBlock> block{};  // all of it is there already, each buffer at its place
  std::vector<std::uint64_t> places{};
  bool fetched = false;                            // it is not sent; this worker fetches it
  std::shared_ptr<device::Placement> placement{};  // its buffers go to a device; the pickle does not
};

class ObjectStore {
 public:
  // Objects with fewer bytes of buffers than this live in plain memory and are copied at each use.
  static constexpr std::size_t kPlainBytes = 256 * 1024;

  explicit ObjectStore(std::size_t keep_bytes, memory::RoomFor room_for = {})
      : pool_(
            keep_bytes,
            [this, room_for = std::move(room_for)](std::uint64_t size) {
              return memory::fits(size, promised(), room_for);
            },
            memory::free_memory) {}
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // kToPlace: all of it came, and its buffers must now go to the device; placed() takes the result of that.
  enum class Receipt { kMore, kWhole, kToPlace };
  Result<Receipt> announce(const SessionId& session, ObjectOffer offer);
  // Chunks must come in order. An overrun, a gap or a repeat ends the receipt with an Error.
  Result<Receipt> chunk(const SessionId& session, const ObjectId& object, Position at,
                        std::span<const std::byte> bytes);
  // The missing rest of an object that is fetched: where its parts go, and how far they came.
  struct Rest {
    std::vector<bulk::Target> targets;
    Position from;
  };
  std::optional<Rest> rest(const SessionId& session, const ObjectId& object) const;  // nullopt: nothing is missing
  void came_to(const SessionId& session, const ObjectId& object, Position position);
  Receipt came_whole(const SessionId& session, const ObjectId& object);
  void give_up(const SessionId& session, const ObjectId& object) { incoming_.erase(Key{session, object}); }
  // An object that must go to a device: where its buffers lie here, each with its owner. No buffers: they were
  // written to the device as they came.
  struct Landed {
    std::shared_ptr<device::Placement> placement;
    std::vector<WritableBytes> buffers;
  };
  Result<Landed> landed(const SessionId& session, const ObjectId& object) const;
  // kMore: the object was dropped or announced again meanwhile.
  Result<Receipt> placed(const SessionId& session, const ObjectId& object, const device::Placement* placement,
                         Result<device::Buffers> buffers);
  // How far the objects came that are still incomplete in this session.
  struct Progress {
    ObjectId object;
    Position at;
  };
  std::vector<Progress> progress(const SessionId& session) const;
  bool has(const ObjectId& object) const { return objects_.contains(object); }
  bool holds(const SessionId& session, const ObjectId& object) const;
  void drop(const SessionId& session, const ObjectId& object);
  void drop_all(const SessionId& session);
  Result<ObjectUse> use(const ObjectId& object) const;
  // Its parts as they were announced, for another worker to fetch; empty: this session does not have it.
  std::vector<Bytes> parts(const SessionId& session, const ObjectId& object) const;
  // The object in its memory, for a worker on this machine to share; nullopt: this session does not have it, or it is
  // small.
  std::optional<ObjectOffer> lying(const SessionId& session, const ObjectId& object) const;
  std::size_t kept_bytes() const { return pool_.kept_bytes(); }
  memory::BlockPool& pool() { return pool_; }
  const memory::BlockPool& pool() const { return pool_; }

 private:
  struct Value {
    std::shared_ptr<std::string> pickle;
    bool pickle_follows = false;
    std::vector<std::uint64_t> sizes, offsets;
    std::uint64_t bytes = 0;
    // Either block or plain. Neither: the object is here already, and its chunks are counted and thrown away.
    std::shared_ptr<memory::MemoryBlock> block;
    memory::KeptView view;  // of the block, for tasks
    std::shared_ptr<std::string> plain;
    std::shared_ptr<device::Placement> placement;  // set while it is on its way to a device
    device::Buffers on_device;
    std::set<SessionId> holders;
    bulk::Target target(std::size_t part) const;
    Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const {
      return into(block, plain, offset, bytes);
    }
    static Result<void> into(const std::shared_ptr<memory::MemoryBlock>& block,
                             const std::shared_ptr<std::string>& plain, std::uint64_t offset,
                             std::span<const std::byte> bytes);
  };
  struct Incoming {
    Value value;
    Position at{};
    bool whole() const { return at.buffer >= value.sizes.size(); }
    void skip_full();
    void came_whole() { at = {static_cast<std::uint32_t>(value.sizes.size()), 0}; }
  };
  using Key = std::pair<SessionId, ObjectId>;

  Result<Value> lay_out(ObjectOffer offer) const;
  static Result<Value> placed(Value value, const ObjectOffer& offer);
  Result<void> find_memory(Value& value);
  static Result<std::vector<WritableBytes>> lent(const Value& value);  // one entry per part, for one use
  std::uint64_t promised() const;                                      // memory that incoming objects will still take
  Receipt settle(const Key& key);
  void refuse(std::map<Key, Incoming>::iterator incoming);

  memory::BlockPool pool_;
  std::map<ObjectId, Value> objects_;
  std::map<Key, Incoming> incoming_;
  std::map<Key, Value> placing_;  // complete, and on their way to a device
  std::set<Key> refused_;         // chunks of these may still come
};

}  // namespace pounce::worker
