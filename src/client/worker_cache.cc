#include "client/worker_cache.h"

#include <utility>

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

bool HeldObjects::confirmed(const ObjectId& id) const {
  const auto found = objects_.find(id);
  return found != objects_.end() && found->second.confirmed;
}

void HeldObjects::sent(const ObjectId& id, std::uint64_t bytes, bool goes_at_once) {
  if (objects_.try_emplace(id, Held{bytes, ++uses_, false, goes_at_once}).second) bytes_ += bytes;
}

void HeldObjects::used(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  auto place = perhaps_unneeded_.extract(std::exchange(found->second.used_at, ++uses_));
  if (place.empty()) return;
  place.key() = uses_;
  perhaps_unneeded_.insert(std::move(place));
}

void HeldObjects::confirm(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  found->second.confirmed = true;
  let_go(id);  // it may have been let go while it was on its way
}

bool HeldObjects::refused(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || found->second.confirmed) return false;
  bytes_ -= found->second.bytes;
  objects_.erase(found);
  return true;
}

void HeldObjects::let_go(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || !found->second.confirmed) return;
  if (found->second.goes_at_once)
    perhaps_unneeded_at_once_.insert(id);
  else
    perhaps_unneeded_.emplace(found->second.used_at, id);
}

void HeldObjects::take_stock(const std::vector<protocol::Reached>& all) {
  parts_.clear();
  for (const protocol::Reached& reached : all) {
    const auto object = ObjectId::from_hex(reached.of);
    if (object && reached.whole)
      confirm(*object);
    else if (object)
      parts_[*object] = reached;
  }
  forget_unconfirmed();
}

std::optional<protocol::Reached> HeldObjects::take_part(const ObjectId& id) {
  auto part = parts_.extract(id);
  return part ? std::optional(std::move(part.mapped())) : std::nullopt;
}

std::vector<ObjectId> HeldObjects::drop_parts(const std::function<bool(const ObjectId&)>& needed) {
  std::vector<ObjectId> dropped;
  std::erase_if(parts_, [&](const auto& entry) {
    if (needed(entry.first)) return false;
    dropped.push_back(entry.first);
    return true;
  });
  return dropped;
}

void HeldObjects::forget_unconfirmed() {
  std::erase_if(objects_, [this](const auto& entry) {
    if (!entry.second.confirmed) bytes_ -= entry.second.bytes;
    return !entry.second.confirmed;
  });
}

std::vector<ObjectId> HeldObjects::drop_over(std::uint64_t budget, const std::function<bool(const ObjectId&)>& needed) {
  std::vector<ObjectId> dropped;
  while (!perhaps_unneeded_at_once_.empty() && dropped.size() < kMostDropped) {
    const ObjectId id = perhaps_unneeded_at_once_.extract(perhaps_unneeded_at_once_.begin()).value();
    if (drop(id, needed)) dropped.push_back(id);
  }
  while (bytes_ > budget && !perhaps_unneeded_.empty() && dropped.size() < kMostDropped) {
    const ObjectId id = perhaps_unneeded_.extract(perhaps_unneeded_.begin()).mapped();
    if (drop(id, needed)) dropped.push_back(id);
  }
  return dropped;
}

bool HeldObjects::drop(const ObjectId& id, const std::function<bool(const ObjectId&)>& needed) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || needed(id)) return false;
  bytes_ -= found->second.bytes;
  objects_.erase(found);
  return true;
}

}  // namespace pounce::client
