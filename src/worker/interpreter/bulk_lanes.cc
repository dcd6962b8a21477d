#include "worker/interpreter/bulk_lanes.h"

#include <algorithm>
#include <iterator>

namespace pounce::worker {

std::string PeerLanes::name_of(const SessionId& session, const ObjectId& object, const std::string& to) {
  return session.hex() + "/" + object.hex() + "/" + to;
}

bool PeerLanes::serve(const SessionId& session, const std::string& reader, const ObjectId& object,
                      std::vector<Bytes> parts) {
  serving_.erase({session, reader});
  bulk::Lane lane;
  if (lane.fd() < 0) return false;
  lane.offer(object.hex(), std::move(parts));
  serving_.emplace(std::pair(session, reader), std::move(lane));
  return true;
}

bool PeerLanes::let_in(const std::string& reader, std::unique_ptr<tls::Channel>& accepted) {
  const auto found = std::ranges::find(serving_, reader, [](const auto& entry) { return entry.first.second; });
  if (found == serving_.end()) return false;
  found->second.add(std::move(accepted));
  return true;
}

bool PeerLanes::fetch(const SessionId& session, const ObjectId& object, const std::string& source,
                      std::string_view keys, std::vector<bulk::Target> targets, Position from) {
  end_fetch(session, object);
  auto credentials = bulk::credentials_of(keys);
  if (!credentials) return false;
  bulk::Lane& lane =
      fetching_.emplace(std::pair(session, object), bulk::Lane(source, std::move(*credentials))).first->second;
  if (lane.fd() >= 0) {
    lane.fetch(object.hex(), std::move(targets), from);
    return true;
  }
  end_fetch(session, object);
  return false;
}

std::optional<Position> PeerLanes::reached(const SessionId& session, const ObjectId& object) const {
  const auto found = fetching_.find({session, object});
  return found == fetching_.end() ? std::nullopt : found->second.reached(object.hex());
}

std::vector<ObjectId> PeerLanes::fetched_by(const SessionId& session) const {
  std::vector<ObjectId> objects;
  for (const auto& [key, lane] : fetching_)
    if (key.first == session) objects.push_back(key.second);
  return objects;
}

void PeerLanes::stop_fetches(const SessionId& session) {
  for (auto& [key, lane] : fetching_)
    if (key.first == session) lane.close();
}

void PeerLanes::close(const SessionId& session) {
  std::erase_if(serving_, [&](const auto& entry) { return entry.first.first == session; });
  std::erase_if(fetching_, [&](const auto& entry) { return entry.first.first == session; });
}

void PeerLanes::add_to(transport::PollSet& polled) const {
  for (const auto& [key, lane] : serving_) polled.add_fd(lane.fd());
  for (const auto& [key, lane] : fetching_) polled.add_fd(lane.fd());
}

// A reader hangs up when it has all parts, so any event of a serving lane ends it.
std::vector<PeerLanes::Event> PeerLanes::events() {
  for (auto one = serving_.begin(); one != serving_.end();)
    one = one->second.events().empty() ? std::next(one) : serving_.erase(one);
  std::vector<Event> all;
  for (auto& [key, lane] : fetching_)
    for (bulk::Event& event : lane.events()) all.push_back({key.first, key.second, std::move(event)});
  return all;
}

std::optional<BulkLanes::Invitation> BulkLanes::invite(const SessionId& session) {
  if (!bulk::Lane::available()) return std::nullopt;
  if (!std::exchange(tried_, true))
    if (auto bound = bulk::Acceptor::bind(endpoint_)) acceptor_ = std::move(*bound);
  if (!acceptor_) return std::nullopt;  // no port was free: data goes over the data socket
  if (lanes_.try_emplace(session).first->second.fd() < 0) {
    lanes_.erase(session);
    return std::nullopt;
  }
  return Invitation{acceptor_->endpoint(), bulk::to_bytes(acceptor_->keys_for(session.hex()))};
}

bulk::Lane* BulkLanes::lane(const SessionId& session) {
  const auto found = lanes_.find(session);
  return found == lanes_.end() ? nullptr : &found->second;
}

void BulkLanes::close(const SessionId& session) {
  lanes_.erase(session);
  if (acceptor_) acceptor_->forget(session.hex());
}

void BulkLanes::dismiss(const SessionId& session) {
  close(session);
  peers_.close(session);
  if (acceptor_) acceptor_->forget_all(session.hex());
}

bool BulkLanes::serve(const SessionId& session, const std::string& reader, const ObjectId& object,
                      std::vector<Bytes> parts, std::string_view keys) {
  auto credentials = bulk::credentials_of(keys);
  if (!acceptor_ || !credentials) return false;
  end_serving(session, reader);
  if (!peers_.serve(session, reader, object, std::move(parts))) return false;
  acceptor_->take_keys(reader, std::move(*credentials));
  return true;
}

void BulkLanes::end_serving(const SessionId& session, const std::string& reader) {
  peers_.end_serving(session, reader);
  if (acceptor_) acceptor_->forget(reader);
}

void BulkLanes::add_to(transport::PollSet& polled) {
  polled_as_ = acceptor_ ? std::optional(polled.add_fd(acceptor_->fd())) : std::nullopt;
  for (const auto& [session, lane] : lanes_) polled.add_fd(lane.fd());
  peers_.add_to(polled);
}

void BulkLanes::accept_waiting(const transport::PollSet& polled) {
  if (!polled_as_ || (!polled.readable(*polled_as_) && Clock::now() < next_deadline())) return;
  while (auto accepted = acceptor_->accept()) {
    if (peers_.let_in(accepted->first, accepted->second)) continue;
    const auto session = SessionId::from_hex(accepted->first);
    if (bulk::Lane* const one = session ? lane(*session) : nullptr) one->add(std::move(accepted->second));
  }
}

std::vector<std::pair<SessionId, bulk::Event>> BulkLanes::events() {
  std::vector<std::pair<SessionId, bulk::Event>> all;
  for (auto& [session, lane] : lanes_)
    for (bulk::Event& event : lane.events()) all.emplace_back(session, std::move(event));
  return all;
}

}  // namespace pounce::worker
