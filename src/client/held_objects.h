// Which objects one worker's Python has, as far as we know. What nobody needs any more stays there for a while, up to a
// budget: running a cell again then sends nothing. On a device it does not, where there is little room, nor does a
// result, which nobody will name again. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "pounce/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

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

  // A connection begins, and the worker says what came over the ones before: what is whole is there, what is not mentioned is
  // not. Of what came in part the rest is sent when somebody needs it.
  void take_stock(const std::vector<protocol::Reached>& all);
  std::optional<protocol::Reached> take_part(const ObjectId& id);
  // Those in part that nobody needs: forgotten here.
  std::vector<ObjectId> drop_parts(const std::function<bool(const ObjectId&)>& needed);
  // The connection broke: what was not confirmed may not have arrived.
  void forget_unconfirmed();
  // Nobody needs it any more. It is looked at once: thousands that are needed, beyond the budget, cost the others nothing.
  void let_go(const ObjectId& id);
  // The least recently used ones over the budget that nobody needs, as many as one message names; they are forgotten here.
  // One that is needed after all is not looked at again before it is let go. Of those that go at once: all.
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
