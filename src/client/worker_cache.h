// Which functions and objects one worker's Python has from this client, as far as we know. What no task needs stays
// there for a while, up to a budget: calling the function or running the cell again then sends nothing. Thread: the
// leader token's holder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

class HeldFunctions {
 public:
  static constexpr std::uint64_t kBudgetBytes = 32ull * 1024 * 1024;

  // `task` needs the function until it has ended. True: the worker does not have it, so it must be sent first.
  bool needs(const FunctionId& id, std::uint64_t bytes, const TaskId& task);
  void ended(const TaskId& task);
  std::uint64_t bytes() const { return bytes_; }

  // The least recently needed functions over the budget that no task needs; they are forgotten here.
  std::vector<FunctionId> drop_over(std::uint64_t budget);
  void clear();  // the connection broke: what was sent may not have arrived

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::uint32_t tasks = 0;        // that need it
    std::uint64_t unneeded_at = 0;  // its place in unneeded_, while no task does
  };
  std::unordered_map<FunctionId, Held> functions_;
  std::unordered_map<TaskId, FunctionId> tasks_;
  std::map<std::uint64_t, FunctionId> unneeded_;  // in the order in which their last tasks ended
  std::uint64_t ends_ = 0, bytes_ = 0;
};

// On a device, where there is little room, an unneeded object does not stay; nor does a result, which no task will
// name again.

class HeldObjects {
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

}  // namespace pounce::client
