#include "worker/interpreter/bulk_lanes.h"

namespace pounce::worker {

std::optional<BulkLanes::Invitation> BulkLanes::invite(const SessionId& session) {
  if (!bulk::Lane::available()) return std::nullopt;
  if (!std::exchange(tried_, true))
    if (auto bound = bulk::Acceptor::bind(endpoint_)) acceptor_ = std::move(*bound);
  if (!acceptor_) return std::nullopt;  // no port was free: data takes the other road
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

void BulkLanes::add_to(transport::PollSet& polled) {
  polled_as_ = acceptor_ ? std::optional(polled.add_fd(acceptor_->fd())) : std::nullopt;
  for (const auto& [session, lane] : lanes_) polled.add_fd(lane.fd());
}

void BulkLanes::accept_waiting(const transport::PollSet& polled) {
  if (!polled_as_ || (!polled.readable(*polled_as_) && Clock::now() < next_deadline())) return;
  while (auto accepted = acceptor_->accept()) {
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
