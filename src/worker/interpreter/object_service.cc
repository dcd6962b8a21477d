#include "worker/interpreter/object_service.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "transport/frame.h"

namespace pounce::worker {
namespace {

constexpr std::size_t kMostReached = 64;

void tell_not_kept(ClientSeat& seat, Error error, const ObjectId& object) {
  error.context["object"] = object.hex();
  seat.outbox.post(protocol::Refused{std::move(error), object});
}

void tell_whole(ClientSeat& seat, const ObjectId& object) {
  seat.outbox.post(protocol::Have{object});
  seat.come_whole.push_back(object);
  if (seat.come_whole.size() > kMostReached / 2) seat.come_whole.pop_front();
}

std::vector<protocol::Reached> progress_of(const ObjectStore& store, const SessionId& session, const ClientSeat& seat) {
  std::vector<protocol::Reached> all;
  for (const auto& [object, at] : store.progress(session)) all.push_back({object.hex(), at.buffer, at.offset, false});
  for (const ObjectId& object : seat.come_whole)
    if (store.holds(session, object)) all.push_back({object.hex(), 0, 0, true});
  if (all.size() > kMostReached) all.resize(kMostReached);
  return all;
}

}  // namespace

ObjectService::ObjectService(Clients& clients, std::size_t keep_bytes, memory::RoomFor room_for,
                             const std::vector<std::string>& package_folders, std::string leased_devices)
    : clients_(clients),
      store_(keep_bytes, std::move(room_for)),
      devices_(std::make_shared<device::Devices>(package_folders, std::move(leased_devices))) {}

void ObjectService::on(const protocol::Function& function, const DataMessage& message) {
  if (message.frames.size() != 2) return message.seat.refuse(ErrorCode::kProtocol, "function needs one payload");
  if (!functions_.add(message.session, function.function, message.frames[1].text(), function.command))
    message.seat.refuse(ErrorCode::kProtocol, "a function's id is the digest of its payload, and this one's is not");
}

void ObjectService::on(const protocol::Object& object, const DataMessage& message) {
  const bool from_peer = !object.source.empty();
  if (message.frames.size() != (object.places.empty() && !from_peer ? 2 : 3) ||
      (from_peer && (!object.places.empty() || !object.fetched)))
    return message.seat.refuse(ErrorCode::kProtocol,
                               "object needs one payload, and one with `places` its memory, or with `source` its keys");
  bulk::Lane* const lane = lanes_.lane(message.session);
  if (object.fetched && lane == nullptr)
    return message.seat.refuse(ErrorCode::kProtocol, "an object is to be fetched, and there is no lane");
  if (object.fetched) lane->stop(object.object.hex());  // the fetch of an earlier announcement
  peer_memory_.end_taking(message.session, object.object);
  const transport::Frame& last = message.frames.back();
  const PeerMemory::Wanted wanted{object, std::string(message.frames[1].text()),
                                  from_peer ? std::string(last.text()) : std::string{}};
  if (from_peer && peer_memory_.take(message.session, wanted, Clock::now())) return;
  take_in(message.session, message.seat, wanted, last.block());
}

void ObjectService::take_in(const SessionId& session, ClientSeat& seat, const PeerMemory::Wanted& wanted,
                            std::shared_ptr<memory::MemoryBlock> block) {
  const ObjectId& id = wanted.object.object;
  auto offer = offer_of(wanted, std::move(block));
  if (!offer) return tell_not_kept(seat, std::move(offer.error()), id);
  receipt(store_.announce(session, std::move(*offer)), session, id, seat);
  if (wanted.object.fetched) begin_fetch(session, seat, wanted);
}

Result<ObjectOffer> ObjectService::offer_of(const PeerMemory::Wanted& wanted,
                                            std::shared_ptr<memory::MemoryBlock> block) const {
  const protocol::Object& object = wanted.object;
  ObjectOffer offer{object.object,    wanted.pickle, object.buffers, object.pickle_follows,
                    std::move(block), object.places, object.fetched};
  if (object.device.empty() || (object.pickle_follows && object.buffers.empty())) return offer;
  std::vector<std::uint64_t> sizes(object.buffers.begin() + (object.pickle_follows ? 1 : 0), object.buffers.end());
  auto placement = device_objects_.placement(object.device, std::move(sizes), object.object);
  if (!placement) return failure(std::move(placement.error()));
  offer.placement = std::move(*placement);
  return offer;
}

void ObjectService::begin_fetch(const SessionId& session, ClientSeat& seat, const PeerMemory::Wanted& wanted) {
  const ObjectId& id = wanted.object.object;
  lanes_.peers().end_fetch(session, id);
  auto rest = store_.rest(session, id);
  if (!rest) return;
  if (wanted.object.source.empty())
    lanes_.lane(session)->fetch(id.hex(), std::move(rest->targets), rest->from);
  else if (!lanes_.peers().fetch(session, id, wanted.object.source, wanted.keys, std::move(rest->targets), rest->from))
    seat.outbox.post(protocol::NotFetched{id});
}

void ObjectService::on(const protocol::Chunk& chunk, const DataMessage& message) {
  const auto object = ObjectId::from_hex(chunk.of);
  if (!object || message.frames.size() != 2)
    return message.seat.refuse(ErrorCode::kProtocol, "a chunk needs an object and one payload");
  receipt(store_.chunk(message.session, *object, {chunk.buffer, chunk.offset}, message.frames[1].bytes()),
          message.session, *object, message.seat);
}

void ObjectService::receipt(const Result<ObjectStore::Receipt>& receipt, const SessionId& session,
                            const ObjectId& object, ClientSeat& seat) {
  if (!receipt)
    tell_not_kept(seat, receipt.error(), object);
  else if (*receipt == ObjectStore::Receipt::kWhole)
    tell_whole(seat, object);
  else if (*receipt == ObjectStore::Receipt::kToPlace)
    if (auto begun = place(session, object); !begun) tell_not_kept(seat, std::move(begun.error()), object);
}

Result<void> ObjectService::place(const SessionId& session, const ObjectId& object) {
  return store_.landed(session, object).and_then([&](const ObjectStore::Landed& landed) {
    DeviceObjects::Work work{session, object, landed.placement, {}};
    for (const WritableBytes& buffer : landed.buffers) work.sources.push_back({buffer.bytes, buffer.keep});
    return device_objects_.finish(std::move(work));
  });
}

// The answer says that the port knows the keys. A reader that came before it would be refused.
void ObjectService::on(const protocol::Serve& serve, const DataMessage& message) {
  const std::string reader = PeerLanes::name_of(message.session, serve.object, serve.to);
  peer_memory_.end_serving(message.session, reader);
  if (serve.over) return lanes_.end_serving(message.session, reader);
  auto parts = store_.parts(message.session, serve.object);
  const bool keyed = message.frames.size() == 2 && !parts.empty();
  auto lying =
      serve.of_one_lease || !memory::memory_is_limited() ? store_.lying(message.session, serve.object) : std::nullopt;
  const bool serves =
      keyed && lanes_.serve(message.session, reader, serve.object, std::move(parts), message.frames[1].text());
  if (serves && lying) peer_memory_.serve(message.session, reader, message.frames[1].text(), std::move(*lying));
  message.seat.outbox.post(protocol::Serve{serve.object, serve.to, !serves});
}

void ObjectService::on(const protocol::Drop& drop, const DataMessage& message) {
  for (const ObjectId& object : drop.objects) {
    store_.drop(message.session, object);
    if (bulk::Lane* const lane = lanes_.lane(message.session)) lane->stop(object.hex());
    lanes_.peers().end_fetch(message.session, object);
    peer_memory_.end_taking(message.session, object);
  }
  for (const FunctionId& function : drop.functions) functions_.drop(message.session, function);
}

void ObjectService::keep_result(const DataMessage& message, const TaskId& task, JobResult result) {
  const ObjectId object = protocol::object_of(task);
  if (!result.ok) return message.seat.outbox.post(protocol::NotFetched{object});
  kept_results_.keep(message.session, object, std::move(result));
}

std::vector<protocol::Reached> ObjectService::reattach(const SessionId& session, const ClientSeat& seat) {
  functions_.drop_all(session);
  leave_lane(session);              // what came over it is kept
  kept_results_.drop_all(session);  // it no longer waits for them
  return progress_of(store_, session, seat);
}

void ObjectService::leave_lane(const SessionId& session) {
  leave_peers(session);
  bulk::Lane* const lane = lanes_.lane(session);
  if (lane == nullptr) return;
  lane->close();
  follow_lanes();
  for (const auto& [object, at] : store_.progress(session))
    if (const auto position = lane->reached(object.hex())) store_.came_to(session, object, *position);
  lanes_.close(session);
}

// As with a lost lane, the client announces again what it still wants here.
void ObjectService::leave_peers(const SessionId& session) {
  peer_memory_.stop_taking(session);
  lanes_.peers().stop_fetches(session);
  follow_lanes();
  for (const ObjectId& object : lanes_.peers().fetched_by(session)) {
    if (const auto position = lanes_.peers().reached(session, object)) store_.came_to(session, object, *position);
    lanes_.peers().end_fetch(session, object);
  }
}

void ObjectService::dismiss(const SessionId& session) {
  lanes_.dismiss(session);
  peer_memory_.close(session);
  kept_results_.drop_all(session);
  store_.drop_all(session);
  functions_.drop_all(session);
}

void ObjectService::add_to(transport::PollSet& polled) {
  lanes_.add_to(polled);
  peer_memory_.add_to(polled);
  device_objects_.add_to(polled);
}

void ObjectService::accept_waiting(const transport::PollSet& polled) {
  lanes_.accept_waiting(polled);
  peer_memory_.accept_waiting(polled);
}

TimePoint ObjectService::next_deadline() const {
  return std::min({lanes_.next_deadline(), peer_memory_.next_deadline(), store_.pool().next_deadline()});
}

void ObjectService::follow() {
  follow_lanes();
  follow_memory();
  follow_devices();
  follow_kept_results();
  store_.pool().give_back(Clock::now());
}

// A lost lane needs no action: its client sees the loss too, and attaches again.
void ObjectService::follow_lanes() {
  for (auto& [session, event] : lanes_.events()) {
    const auto* whole = std::get_if<bulk::Whole>(&event);
    const auto* failed = std::get_if<bulk::Failed>(&event);
    const auto object = whole ? ObjectId::from_hex(whole->of) : failed ? ObjectId::from_hex(failed->of) : std::nullopt;
    if (object) follow(session, *object, event);
  }
  for (auto& [session, object, event] : lanes_.peers().events()) {
    follow(session, object, event);
    lanes_.peers().end_fetch(session, object);
  }
}

void ObjectService::follow(const SessionId& session, const ObjectId& object, bulk::Event& event) {
  ClientSeat* const seat = clients_.seat(session);
  if (seat == nullptr) return;
  std::visit(
      Overloaded{[&](bulk::Failed& failed) {
                   store_.give_up(session, object);
                   tell_not_kept(*seat, std::move(failed.error), object);
                 },
                 [&](const bulk::Whole&) { receipt(store_.came_whole(session, object), session, object, *seat); },
                 [&](const bulk::Lost&) {  // of a lane from another worker: the part that came is kept
                   const auto reached = lanes_.peers().reached(session, object);
                   if (!reached) return;
                   store_.came_to(session, object, *reached);
                   seat->outbox.post(protocol::NotFetched{object});
                 }},
      event);
}

// An object that does not come as memory is fetched as if that had not been tried.
void ObjectService::follow_memory() {
  for (auto& [session, wanted, came] : peer_memory_.events(Clock::now())) {
    ClientSeat* const seat = clients_.seat(session);
    if (seat == nullptr) continue;
    if (came)
      receipt(store_.announce(session, std::move(*came)), session, wanted.object.object, *seat);
    else if (lanes_.lane(session) != nullptr)
      take_in(session, *seat, wanted);
  }
}

void ObjectService::follow_devices() {
  for (auto& [session, object, placement, buffers] : device_objects_.events()) {
    const auto placed = store_.placed(session, object, placement.get(), std::move(buffers));
    if (ClientSeat* const seat = clients_.seat(session)) receipt(placed, session, object, *seat);
  }
}

// If there is no memory for the result, the client sends it as any other object: the function's return value is gone
// by then.
void ObjectService::follow_kept_results() {
  auto event = kept_results_.step(store_.pool());
  ClientSeat* const seat = event ? clients_.seat(event->session) : nullptr;
  if (seat == nullptr) return;
  if (event->made)
    receipt(store_.announce(event->session, std::move(*event->made)), event->session, event->object, *seat);
  else
    seat->outbox.post(protocol::NotFetched{event->object});
}

}  // namespace pounce::worker
