#include "worker/interpreter/bulk_lanes.h"

namespace pounce::worker {

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
  relays_.close(session);
  if (acceptor_) acceptor_->forget_all(session.hex());
}

bool BulkLanes::serve(const SessionId& session, const std::string& reader, const ObjectId& object, std::vector<bulk::Offered> parts,
                      std::string_view keys) {
  auto credentials = bulk::credentials_of(keys);
  if (!acceptor_ || !credentials) return false;
  end_serving(session, reader);
  if (!relays_.serve(session, reader, object, std::move(parts))) return false;
  acceptor_->take_keys(reader, std::move(*credentials));
  return true;
}

void BulkLanes::end_serving(const SessionId& session, const std::string& reader) {
  relays_.end_serving(session, reader);
  if (acceptor_) acceptor_->forget(reader);
}

void BulkLanes::add_to(transport::PollSet& polled) {
  polled_as_ = acceptor_ ? std::optional(polled.add_fd(acceptor_->fd())) : std::nullopt;
  for (const auto& [session, lane] : lanes_) polled.add_fd(lane.fd());
  relays_.add_to(polled);
}

void BulkLanes::accept_waiting(const transport::PollSet& polled) {
  if (!polled_as_ || (!polled.readable(*polled_as_) && Clock::now() < next_deadline())) return;
  while (auto accepted = acceptor_->accept()) {
    if (relays_.let_in(accepted->first, accepted->second)) continue;
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
