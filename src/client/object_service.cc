#include "client/object_service.h"

#include <algorithm>

#include "bulk/lane.h"

namespace pounce::client {
namespace {

// How many results that other calls wait for keep the descriptor of their memory, since a process has few
// descriptors. Any more are sent as a copy.
constexpr std::size_t kMostShared = 64;

std::string name_of(const task::WorkerRef& place) {
  return place.lease.hex() + "." + std::to_string(place.worker.value);
}

}  // namespace

// Holds each object until it is there, so that the end of its last call does not cut the transfer short.
void PeerTransfers::see_to_wanted(const task::WorkerRef& place) {
  WorkerLink* const link = workers_.link_at(place);
  if (link == nullptr) return;
  for (const ObjectId& id : link->objects().take_wanted())
    if (objects_.hold(id))
      act(broadcast_.wants(id, place, lies_on_device(id) ? std::string() : link->connection().machine()));
}

void PeerTransfers::made(const task::WorkerRef& place, const ObjectId& object) {
  const WorkerLink* const link = workers_.link_at(place);
  if (link != nullptr && objects_.hold(object)) broadcast_.made(object, place, link->connection().machine());
}

// No worker fetches an object from another worker's device: to the others it is as if it had not come there.
void PeerTransfers::has(const task::WorkerRef& place, const ObjectId& object) {
  act(lies_on_device(object) ? broadcast_.refused(object, place) : broadcast_.has(object, place));
}

bool PeerTransfers::lies_on_device(const ObjectId& object) const {
  const Object* const known = objects_.find(object);
  return known != nullptr && !known->device.empty();
}

void PeerTransfers::not_fetched(const task::WorkerRef& place, const ObjectId& object) {
  act(broadcast_.failed(object, place));
}

void PeerTransfers::answered(const task::WorkerRef& source, const protocol::Serve& answer) {
  const auto found = std::ranges::find_if(arranged_, [&](const auto& entry) {
    return entry.second.fetch.from == source && entry.first.first == answer.object &&
           name_of(entry.first.second) == answer.to;
  });
  if (found == arranged_.end()) return;  // the reader is gone
  const auto [fetch, keys] = std::move(arranged_.extract(found).mapped());
  WorkerLink* const giver = workers_.link_at(source);
  WorkerLink* const reader = workers_.link_at(fetch.to);
  const Object* const object = objects_.find(fetch.object);
  if (answer.over || giver == nullptr || giver->connection().lane().endpoint().empty())
    return act(broadcast_.failed(fetch.object, fetch.to));
  if (reader != nullptr && object != nullptr)
    reader->objects().fetch_from(giver->connection().lane().endpoint(), keys, fetch.object, *object);
}

// Fetches that were arranged with it as the source are not begun.
void PeerTransfers::gone(const task::WorkerRef& place) {
  std::vector<task::Broadcast::Fetch> without_source;
  for (const auto& [reader, arranged] : arranged_)
    if (arranged.fetch.from == place) without_source.push_back(arranged.fetch);
  act(broadcast_.gone(place));
  for (const task::Broadcast::Fetch& fetch : without_source)
    if (arranged_.erase({fetch.object, fetch.to}) > 0) act(broadcast_.failed(fetch.object, fetch.to));
}

void PeerTransfers::act(const task::Broadcast::Decisions& decisions) {
  for (const auto& fetch : decisions.over) end(fetch);
  for (const auto& fetch : decisions.begin) begin(fetch);
  for (const ObjectId& id : decisions.settled) let_go_(id);
}

void PeerTransfers::begin(const task::Broadcast::Fetch& fetch) {
  if (fetch.from) return arrange(fetch);
  WorkerLink* const link = workers_.link_at(fetch.to);
  const Object* const object = objects_.find(fetch.object);
  if (link != nullptr && object != nullptr) link->objects().offer(fetch.object, *object);
}

void PeerTransfers::arrange(const task::Broadcast::Fetch& fetch) {
  WorkerLink* const giver = workers_.link_at(*fetch.from);
  WorkerLink* const reader = workers_.link_at(fetch.to);
  if (giver == nullptr || reader == nullptr || giver->connection().lane().endpoint().empty())
    return act(broadcast_.failed(fetch.object, fetch.to));
  const std::string keys =
      bulk::new_keys(std::min(giver->connection().lane().most_streams(), reader->connection().lane().most_streams()));
  arranged_[{fetch.object, fetch.to}] = {fetch, keys};
  giver->connection().send(protocol::Serve{fetch.object, name_of(fetch.to), false, fetch.from->lease == fetch.to.lease},
                           {own_bytes(keys)});
}

void PeerTransfers::end(const task::Broadcast::Fetch& fetch) {
  arranged_.erase({fetch.object, fetch.to});
  WorkerLink* const giver = fetch.from ? workers_.link_at(*fetch.from) : nullptr;
  if (giver != nullptr && giver->connection().connected())
    giver->connection().send(protocol::Serve{fetch.object, name_of(fetch.to), true});
}

// ---- what the client holds ------------------------------------------------------------------------------------------

HolderNumber ObjectService::hold(const ObjectId& id, Object object, bool send_now) {
  const HolderNumber holder = objects_.hold(id, std::move(object));
  if (send_now) send_ahead(id);
  return holder;
}

// Sends the object to one worker of each lease, the one that was given least. Calls that need it prefer that worker;
// any other worker gets it when a call there needs it.
void ObjectService::send_ahead(const ObjectId& id) {
  struct Chosen {
    task::WorkerRef place;
    WorkerLink* link = nullptr;  // null: the lease has it
  };
  std::map<LeaseId, Chosen> chosen;
  const std::string& device = objects_.find(id)->device;
  for (const auto& [place, worker] : workers_.all()) {
    WorkerObjects& there = worker.link->objects();
    if (!worker.link->connection().attached() || !there.may_have(device)) continue;
    Chosen& one = chosen.try_emplace(place.lease, Chosen{place, worker.link.get()}).first->second;
    if (there.held().contains(id))
      one.link = nullptr;
    else if (one.link != nullptr && there.held().bytes() < one.link->objects().held().bytes())
      one = {place, worker.link.get()};
  }
  for (const auto& [lease, one] : chosen) {
    if (one.link == nullptr || !one.link->objects().send(id, *objects_.find(id))) continue;
    peer_transfers_.see_to_wanted(one.place);
    one.link->connection().flush();
  }
}

void ObjectService::release(const ObjectId& id, HolderNumber holder) {
  objects_.release(id, holder);
  forget_unheld(id);
  for (const auto& [place, worker] : workers_.all()) drop_unneeded(place, *worker.link);
}

void ObjectService::let_go(const ObjectId& id) {
  objects_.release(id);
  forget_unheld(id);
}

void ObjectService::forget_unheld(const ObjectId& id) {
  if (objects_.find(id) != nullptr) return;
  peer_transfers_.forget(id);
  for (const auto& [place, worker] : workers_.all()) worker.link->objects().held().let_go(id);
}

ObjectId ObjectService::keep_result(const TaskId& task, const Incoming& outcome) {
  const ObjectId id = protocol::object_of(task);
  std::erase_if(shared_, [](const auto& memory) { return memory.expired(); });
  const bool share = outcome.came_as_memory() && shared_.size() < kMostShared;
  if (share) shared_.push_back(outcome.kept_memory());
  Object object = outcome.object(share);
  const std::uint64_t bytes = object.total_bytes();
  kept_results_[task] = {id, objects_.hold(id, std::move(object)), bytes};
  return id;
}

std::optional<KeptResult> ObjectService::take_kept(const TaskId& task) {
  auto kept = kept_results_.extract(task);
  return kept ? std::optional(kept.mapped()) : std::nullopt;
}

void ObjectService::drop_kept(const TaskId& task) {
  if (const auto kept = take_kept(task)) release(kept->id, kept->holder);
}

void ObjectService::drop_unneeded(const task::WorkerRef& place, WorkerLink& link) {
  const auto needed = [this](const ObjectId& id) { return objects_.find(id) != nullptr; };
  ObjectsAtWorker& held = link.objects().held();
  protocol::Drop unneeded{held.drop_parts(needed), link.tasks().functions().drop_over(FunctionsAtWorker::kBudgetBytes)};
  for (bool more = true; more; unneeded = {}) {
    const auto dropped = held.drop_over(ObjectsAtWorker::kBudgetBytes, needed);
    unneeded.objects.insert(unneeded.objects.end(), dropped.begin(), dropped.end());
    for (const ObjectId& id : unneeded.objects) peer_transfers_.dropped(place, id);
    if (!unneeded.objects.empty() || !unneeded.functions.empty()) link.connection().send(unneeded);
    more = dropped.size() == ObjectsAtWorker::kMostDropped;
  }
}

}  // namespace pounce::client
