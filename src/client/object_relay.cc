#include "client/object_relay.h"

#include <algorithm>

#include "bulk/lane.h"

namespace pounce::client {
namespace {

std::string name_of(const task::Place& place) { return place.lease.hex() + "." + std::to_string(place.worker.value); }

}  // namespace

// Holds each object until it is there, so that the end of its last call does not cut the transfer short.
void ObjectRelay::see_to_wanted(const task::Place& place) {
  WorkerLink* const link = link_at_(place);
  if (link == nullptr) return;
  for (const ObjectId& id : link->take_wanted())
    if (objects_.hold(id)) act(broadcast_.wants(id, place, lies_on_device(id) ? std::string() : link->machine()));
}

void ObjectRelay::made(const task::Place& place, const ObjectId& object) {
  const WorkerLink* const link = link_at_(place);
  if (link != nullptr && objects_.hold(object)) broadcast_.made(object, place, link->machine());
}

// No worker fetches an object from another worker's device: to the others it is as if it had not come there.
void ObjectRelay::has(const task::Place& place, const ObjectId& object) {
  act(lies_on_device(object) ? broadcast_.refused(object, place) : broadcast_.has(object, place));
}

bool ObjectRelay::lies_on_device(const ObjectId& object) const {
  const Object* const known = objects_.find(object);
  return known != nullptr && !known->device.empty();
}

void ObjectRelay::not_fetched(const task::Place& place, const ObjectId& object) {
  act(broadcast_.failed(object, place));
}

void ObjectRelay::answered(const task::Place& source, const protocol::Serve& answer) {
  const auto found = std::ranges::find_if(arranged_, [&](const auto& entry) {
    return entry.second.fetch.from == source && entry.first.first == answer.object &&
           name_of(entry.first.second) == answer.to;
  });
  if (found == arranged_.end()) return;  // the reader is gone
  const auto [fetch, keys] = std::move(arranged_.extract(found).mapped());
  WorkerLink* const giver = link_at_(source);
  WorkerLink* const reader = link_at_(fetch.to);
  const Object* const object = objects_.find(fetch.object);
  if (answer.over || giver == nullptr || giver->lane().endpoint().empty())
    return act(broadcast_.failed(fetch.object, fetch.to));
  if (reader != nullptr && object != nullptr) reader->fetch_from(giver->lane().endpoint(), keys, fetch.object, *object);
}

// Fetches that were arranged with it as the source are not begun.
void ObjectRelay::gone(const task::Place& place) {
  std::vector<task::Broadcast::Fetch> without_source;
  for (const auto& [reader, arranged] : arranged_)
    if (arranged.fetch.from == place) without_source.push_back(arranged.fetch);
  act(broadcast_.gone(place));
  for (const task::Broadcast::Fetch& fetch : without_source)
    if (arranged_.erase({fetch.object, fetch.to}) > 0) act(broadcast_.failed(fetch.object, fetch.to));
}

void ObjectRelay::act(const task::Broadcast::Decisions& decisions) {
  for (const auto& fetch : decisions.over) end(fetch);
  for (const auto& fetch : decisions.begin) begin(fetch);
  for (const ObjectId& id : decisions.settled) let_go_(id);
}

void ObjectRelay::begin(const task::Broadcast::Fetch& fetch) {
  if (fetch.from) return arrange(fetch);
  WorkerLink* const link = link_at_(fetch.to);
  const Object* const object = objects_.find(fetch.object);
  if (link != nullptr && object != nullptr) link->offer(fetch.object, *object);
}

void ObjectRelay::arrange(const task::Broadcast::Fetch& fetch) {
  WorkerLink* const giver = link_at_(*fetch.from);
  WorkerLink* const reader = link_at_(fetch.to);
  if (giver == nullptr || reader == nullptr || giver->lane().endpoint().empty())
    return act(broadcast_.failed(fetch.object, fetch.to));
  const std::string keys = bulk::new_keys(std::min(giver->lane().most_streams(), reader->lane().most_streams()));
  arranged_[{fetch.object, fetch.to}] = {fetch, keys};
  giver->send(protocol::Serve{fetch.object, name_of(fetch.to), false, fetch.from->lease == fetch.to.lease},
              {own_buffer(keys)});
}

void ObjectRelay::end(const task::Broadcast::Fetch& fetch) {
  arranged_.erase({fetch.object, fetch.to});
  WorkerLink* const giver = fetch.from ? link_at_(*fetch.from) : nullptr;
  if (giver != nullptr && giver->connected()) giver->send(protocol::Serve{fetch.object, name_of(fetch.to), true});
}

}  // namespace pounce::client
