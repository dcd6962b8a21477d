// Which objects one worker's Python has from this client, as far as we know, and how it gets more: a large one over the
// bulk lane, by us or from another worker, any other behind the messages. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/objects.h"
#include "client/worker_connection.h"
#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

// What no task needs stays there for a while, up to a budget: running the cell again then sends nothing. On a device,
// where there is little room, an unneeded object does not stay; nor does a result, which no task will name again.
class ObjectsAtWorker {
 public:
  static constexpr std::uint64_t kBudgetBytes = 2ull * 1024 * 1024 * 1024;
  static constexpr std::size_t kMostDropped = 1000;

  bool contains(const ObjectId& id) const { return objects_.contains(id); }
  bool confirmed(const ObjectId& id) const;
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_of(const ObjectId& id) const {
    const auto found = objects_.find(id);
    return found == objects_.end() ? 0 : found->second.bytes;
  }
  void sent(const ObjectId& id, std::uint64_t bytes, bool goes_at_once = false);
  void used(const ObjectId& id);
  void confirm(const ObjectId& id);
  bool refused(const ObjectId& id);  // false: it was not on its way

  // A connection begins, and the worker reports what came over the earlier ones. A whole object is there; one that is
  // not mentioned is not. The rest of a partial object is sent when a task needs it.
  void take_stock(const std::vector<protocol::Reached>& all);
  std::optional<protocol::Reached> take_part(const ObjectId& id);
  // Returns the partial objects that are not needed, and forgets them here.
  std::vector<ObjectId> drop_parts(const std::function<bool(const ObjectId&)>& needed);
  // The connection broke: what was not confirmed may not have arrived.
  void forget_unconfirmed();
  // The object is not needed any more. Each is examined only once, so that thousands of needed objects beyond the
  // budget cost the others nothing.
  void let_go(const ObjectId& id);
  // Returns the least recently used objects over the budget that are not needed, as many as one message names, and
  // forgets them here. An object that is needed after all is not examined again before it is let go. Those that go
  // at once are dropped whatever the budget.
  std::vector<ObjectId> drop_over(std::uint64_t budget, const std::function<bool(const ObjectId&)>& needed);

 private:
  struct Held {
    std::uint64_t bytes = 0, used_at = 0;
    bool confirmed = false, goes_at_once = false;
  };
  bool drop(const ObjectId& id, const std::function<bool(const ObjectId&)>& needed);

  std::unordered_map<ObjectId, Held> objects_;
  std::unordered_map<ObjectId, protocol::Reached> parts_;
  std::map<std::uint64_t, ObjectId> perhaps_unneeded_;  // confirmed ones, by their last use
  std::set<ObjectId> perhaps_unneeded_at_once_;
  std::uint64_t uses_ = 0, bytes_ = 0;
};

class WorkerObjects {
 public:
  explicit WorkerObjects(WorkerConnection& connection) : connection_(connection) {}

  ObjectsAtWorker& held() { return held_; }
  const ObjectsAtWorker& held() const { return held_; }
  // Whether an object for such a device can be sent there before a task needs it.
  bool may_have(const std::string& device) const { return has_devices_ || !device.starts_with("cuda"); }

  // False: it is there, or on its way.
  bool send(const ObjectId& id, const Object& object);
  // The objects for the bulk lane since the last call. Each waits until its source is decided.
  std::vector<ObjectId> take_wanted() { return std::exchange(wanted_, {}); }
  void offer(const ObjectId& id, const Object& object);  // by us
  // From another worker.
  void fetch_from(const std::string& source, const std::string& keys, const ObjectId& id, const Object& object);

  // A task's result may stay at the worker as an object. Where it may not, it has to be sent.
  bool may_keep(const Object& object) const { return connection_.lane().takes(object.total_bytes()); }
  void kept(const ObjectId& id, const Object& object);  // tasks that need it wait until the worker confirms it

  void attached(const protocol::Attached& answer);
  void arrived(const ObjectId& id);
  bool refused(const ObjectId& id);  // false: it is there already, or was dropped
  void lost() { wanted_.clear(); }   // the connection

 private:
  WorkerConnection& connection_;
  ObjectsAtWorker held_;
  std::vector<ObjectId> wanted_;
  bool has_devices_ = false;
};

}  // namespace pounce::client
