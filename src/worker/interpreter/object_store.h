// The immutable values that clients sent, by content hash. A value is a small pickle and the buffers that its arrays
// live in. Several sessions may hold the same object; it goes when the last one drops it. An object is received per
// session, so that one client's broken connection cannot spoil another's copy. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bulk/fetches.h"
#include "bulk/offers.h"
#include "device/placement.h"
#include "memory/block_pool.h"
#include "memory/memory_block.h"
#include "memory/room.h"
#include "pounce/ids.h"
#include "pounce/result.h"

namespace pounce::worker {

// A piece of memory for one use by one task; `keep` holds whatever it lies in. Writable, seen by nobody else.
struct Lent {
  std::span<std::byte> bytes;
  std::shared_ptr<const void> keep;
};

struct ObjectUse {
  Lent pickle;
  std::vector<Lent> buffers;
  device::Buffers on_device{};  // in their place
};

struct ObjectOffer {  // what an announcement says
  ObjectId object;
  std::string pickle;
  std::vector<std::uint64_t> sizes;
  bool pickle_follows = false;  // then sizes[0] is the pickle's
  std::shared_ptr<memory::MemoryBlock> block{};  // it is all there already, each buffer at its place
  std::vector<std::uint64_t> places{};
  bool fetched = false;  // it is not sent: we fetch it, from where we are
  std::shared_ptr<device::Placement> placement{};  // its buffers are to lie on a device; the pickle is none of them
  bool made_here = false;  // the block is of the store's pool
};

class ObjectStore {
 public:
  // Objects whose buffers are smaller in all than this live in plain memory and are copied at each use.
  static constexpr std::size_t kPlainBytes = 256 * 1024;

  explicit ObjectStore(std::size_t keep_bytes, memory::RoomFor room_for = {})
      : pool_(keep_bytes, [this, room_for = std::move(room_for)](std::uint64_t size) { return memory::fits(size, promised(), room_for); }) {}
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // kToPlace: all of it came, and the rest is the device's; placed() is told how that ended.
  enum class Receipt { kMore, kWhole, kToPlace };
  Result<Receipt> announce(const SessionId& session, ObjectOffer offer);
  // Chunks come in order; anything else (overrun, gap, repeat) ends that receipt with an Error.
  Result<Receipt> chunk(const SessionId& session, const ObjectId& object, std::uint32_t buffer, std::uint64_t offset,
                        std::span<const std::byte> bytes);
  // Of one that is fetched: where its parts go, and how far they came.
  struct Rest {
    std::vector<bulk::Target> targets;
    bulk::Position from;
  };
  std::optional<Rest> rest(const SessionId& session, const ObjectId& object) const;  // nullopt: nothing is to come
  void came_to(const SessionId& session, const ObjectId& object, bulk::Position position);
  Receipt came_whole(const SessionId& session, const ObjectId& object);
  void give_up(const SessionId& session, const ObjectId& object) { incoming_.erase(Key{session, object}); }
  // Of one that is to be placed: where its buffers lie here, each with what keeps it; none where they went to the device as they came.
  struct Landed {
    std::shared_ptr<device::Placement> placement;
    std::vector<Lent> buffers;
  };
  Result<Landed> landed(const SessionId& session, const ObjectId& object) const;
  // kMore: nobody waits for it any more, or it was announced anew.
  Result<Receipt> placed(const SessionId& session, const ObjectId& object, const device::Placement* placement, Result<device::Buffers> buffers);
  // How far the objects came that this session had not sent whole.
  struct Progress {
    ObjectId object;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
  };
  std::vector<Progress> progress(const SessionId& session) const;
  bool has(const ObjectId& object) const { return objects_.contains(object); }
  bool holds(const SessionId& session, const ObjectId& object) const;
  void drop(const SessionId& session, const ObjectId& object);
  void drop_all(const SessionId& session);
  Result<ObjectUse> use(const ObjectId& object) const;
  // As they were announced, for another worker to fetch; empty: this session has it not.
  std::vector<bulk::Offered> parts(const SessionId& session, const ObjectId& object) const;
  // As it lies here, for a worker of this machine to have it too; nullopt: this session has it not, or it is small.
  std::optional<ObjectOffer> lying(const SessionId& session, const ObjectId& object) const;
  std::size_t kept_bytes() const { return pool_.kept_bytes(); }
  memory::BlockPool& pool() { return pool_; }

 private:
  struct Value {
    std::shared_ptr<std::string> pickle;
    bool pickle_follows = false;
    std::vector<std::uint64_t> sizes, offsets;
    std::uint64_t bytes = 0;
    std::shared_ptr<memory::MemoryBlock> block;  // or
    std::shared_ptr<std::string> plain;  // or neither: we have it already, what comes is counted and thrown away
    std::shared_ptr<device::Placement> placement;  // on its way to a device
    device::Buffers on_device;
    std::set<SessionId> holders;
    bulk::Target target(std::size_t part) const;
    Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const { return into(block, plain, offset, bytes); }
    static Result<void> into(const std::shared_ptr<memory::MemoryBlock>& block, const std::shared_ptr<std::string>& plain,
                             std::uint64_t offset, std::span<const std::byte> bytes);
  };
  struct Incoming {
    Value value;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    bool whole() const { return buffer >= value.sizes.size(); }
    void skip_full_buffers();
  };
  using Key = std::pair<SessionId, ObjectId>;

  Result<Value> lay_out(ObjectOffer offer) const;
  static Result<Value> placed(Value value, const ObjectOffer& offer);
  Result<void> find_memory(Value& value);
  static Result<std::vector<Lent>> lent(const Value& value);  // each part, for one use
  std::uint64_t promised() const;  // to what is under way, and not come yet
  Receipt settle(const Key& key);
  void refuse(std::map<Key, Incoming>::iterator incoming);

  memory::BlockPool pool_;
  std::map<ObjectId, Value> objects_;
  std::map<Key, Incoming> incoming_;
  std::map<Key, Value> placing_;  // they came, and go to a device
  std::set<Key> refused_;  // chunks of them may still come
};

}  // namespace pounce::worker
