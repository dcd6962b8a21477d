#include "client/worker_objects.h"

namespace pounce::client {

bool ObjectsAtWorker::confirmed(const ObjectId& id) const {
  const auto found = objects_.find(id);
  return found != objects_.end() && found->second.confirmed;
}

void ObjectsAtWorker::sent(const ObjectId& id, std::uint64_t bytes, bool goes_at_once) {
  if (objects_.try_emplace(id, Held{bytes, ++uses_, false, goes_at_once}).second) bytes_ += bytes;
}

void ObjectsAtWorker::used(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  auto place = perhaps_unneeded_.extract(std::exchange(found->second.used_at, ++uses_));
  if (place.empty()) return;
  place.key() = uses_;
  perhaps_unneeded_.insert(std::move(place));
}

void ObjectsAtWorker::confirm(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  found->second.confirmed = true;
  let_go(id);  // it may have been let go while it was on its way
}

bool ObjectsAtWorker::refused(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || found->second.confirmed) return false;
  bytes_ -= found->second.bytes;
  objects_.erase(found);
  return true;
}

void ObjectsAtWorker::let_go(const ObjectId& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || !found->second.confirmed) return;
  if (found->second.goes_at_once)
    perhaps_unneeded_at_once_.insert(id);
  else
    perhaps_unneeded_.emplace(found->second.used_at, id);
}

void ObjectsAtWorker::take_stock(const std::vector<protocol::Reached>& all) {
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

std::optional<protocol::Reached> ObjectsAtWorker::take_part(const ObjectId& id) {
  auto part = parts_.extract(id);
  return part ? std::optional(std::move(part.mapped())) : std::nullopt;
}

std::vector<ObjectId> ObjectsAtWorker::drop_parts(const std::function<bool(const ObjectId&)>& needed) {
  std::vector<ObjectId> dropped;
  std::erase_if(parts_, [&](const auto& entry) {
    if (needed(entry.first)) return false;
    dropped.push_back(entry.first);
    return true;
  });
  return dropped;
}

void ObjectsAtWorker::forget_unconfirmed() {
  std::erase_if(objects_, [this](const auto& entry) {
    if (!entry.second.confirmed) bytes_ -= entry.second.bytes;
    return !entry.second.confirmed;
  });
}

std::vector<ObjectId> ObjectsAtWorker::drop_over(std::uint64_t budget,
                                                 const std::function<bool(const ObjectId&)>& needed) {
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

bool ObjectsAtWorker::drop(const ObjectId& id, const std::function<bool(const ObjectId&)>& needed) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || needed(id)) return false;
  bytes_ -= found->second.bytes;
  objects_.erase(found);
  return true;
}

// ---- how they get there -----------------------------------------------------------------------------------------

bool WorkerObjects::send(const ObjectId& id, const Object& object) {
  if (held_.contains(id)) return false;
  held_.sent(id, object.total_bytes(), !object.device.empty() || object.of_result);
  const auto reached = held_.take_part(id);
  if (connection_.lane().takes(object.total_bytes())) {
    connection_.lane().expect(id);
    wanted_.push_back(id);
  } else  // behind earlier objects, so that a task's function and objects arrive in the order of its needs
    connection_.outbox().post_object(id, object, reached ? &*reached : nullptr);
  return true;
}

// The lane may have been lost meanwhile: then its objects are wanted anew.
void WorkerObjects::offer(const ObjectId& id, const Object& object) {
  if (!connection_.lane().carries(id)) return;
  Announcement announcement(id, object);
  announcement.header.fetched = true;
  connection_.lane().offer(id, announcement.parts);
  connection_.send(announcement.header, announcement.payload);
}

void WorkerObjects::fetch_from(const std::string& source, const std::string& keys, const ObjectId& id,
                               const Object& object) {
  if (!connection_.lane().carries(id)) return;
  Announcement announcement(id, object);
  announcement.header.fetched = true;
  announcement.header.source = source;
  announcement.payload.push_back(own_bytes(keys));
  connection_.send(announcement.header, announcement.payload);
}

void WorkerObjects::kept(const ObjectId& id, const Object& object) {
  held_.sent(id, object.total_bytes(), object.of_result);
  connection_.lane().expect(id);
}

void WorkerObjects::attached(const protocol::Attached& answer) {
  held_.take_stock(answer.reached);
  has_devices_ = !answer.devices.empty();
}

void WorkerObjects::arrived(const ObjectId& id) {
  held_.confirm(id);
  connection_.lane().arrived(id);
  connection_.outbox().arrived(id);
  connection_.flush();
}

bool WorkerObjects::refused(const ObjectId& id) {
  if (!held_.refused(id)) return false;
  connection_.lane().arrived(id);
  connection_.outbox().refused(id);
  return true;
}

}  // namespace pounce::client
