#include "client/held_functions.h"

namespace pounce::client {

bool HeldFunctions::needs(const FunctionId& id, std::uint64_t bytes, const TaskId& task) {
  ended(task);  // a task that is sent a second time counts once
  const auto [found, is_new] = functions_.try_emplace(id, Held{bytes});
  if (is_new) bytes_ += bytes;
  if (found->second.tasks++ == 0) unneeded_.erase(found->second.unneeded_at);
  tasks_.emplace(task, id);
  return is_new;
}

void HeldFunctions::ended(const TaskId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  Held& held = functions_.at(found->second);
  if (--held.tasks == 0) {
    held.unneeded_at = ++ends_;
    unneeded_.emplace(held.unneeded_at, found->second);
  }
  tasks_.erase(found);
}

std::vector<FunctionId> HeldFunctions::drop_over(std::uint64_t budget) {
  std::vector<FunctionId> dropped;
  while (bytes_ > budget && !unneeded_.empty()) {
    const FunctionId id = unneeded_.begin()->second;
    unneeded_.erase(unneeded_.begin());
    bytes_ -= functions_.at(id).bytes;
    functions_.erase(id);
    dropped.push_back(id);
  }
  return dropped;
}

void HeldFunctions::clear() { *this = {}; }

}  // namespace pounce::client
