#include "pounced/net/peers.h"

#include <algorithm>

namespace pounce::daemon {

using protocol::Role;

bool Peers::make_room(TimePoint now) {
  if (peers_.size() < kMost) return true;
  const auto oldest = std::min_element(peers_.begin(), peers_.end(), [](const auto& a, const auto& b) {
    return a.second.last_seen < b.second.last_seen;
  });
  if (now - oldest->second.last_seen < kSilent) return false;
  peers_.erase(oldest);
  return true;
}

bool Peers::admit(Peer peer, TimePoint now) {
  if (peer.role == Role::kClient) forget_session(peer.session);
  peers_.erase(peer.key);
  if (!make_room(now)) return false;
  peer.last_seen = now;
  if (peer.role == Role::kWorker) peer.link.value = ++last_link_;
  const PublicKey key = peer.key;
  peers_.emplace(key, std::move(peer));
  return true;
}

void Peers::forget_session(const SessionId& session) {
  std::erase_if(
      peers_, [&](const auto& entry) { return entry.second.role == Role::kClient && entry.second.session == session; });
}

void Peers::forget_lease(const LeaseId& lease) {
  std::erase_if(peers_,
                [&](const auto& entry) { return entry.second.role == Role::kWorker && entry.second.lease == lease; });
}

void Peers::only_worker(const Peer& worker) {
  std::erase_if(peers_, [&](const auto& entry) {
    const Peer& other = entry.second;
    return other.role == Role::kWorker && other.lease == worker.lease && other.worker == worker.worker &&
           !other.route.empty() && other.link != worker.link;
  });
}

Peer* Peers::find(const PublicKey& key) {
  const auto found = peers_.find(key);
  return found == peers_.end() ? nullptr : &found->second;
}

Peer* Peers::client(const SessionId& session) {
  for (auto& [key, peer] : peers_)
    if (peer.role == Role::kClient && peer.session == session) return &peer;
  return nullptr;
}

Peer* Peers::worker(lease::WorkerLink link) {
  for (auto& [key, peer] : peers_)
    if (peer.role == Role::kWorker && peer.link == link) return &peer;
  return nullptr;
}

std::vector<Peer*> Peers::workers(const LeaseId& lease) {
  std::vector<Peer*> found;
  for (auto& [key, peer] : peers_)
    if (peer.role == Role::kWorker && peer.named && peer.lease == lease) found.push_back(&peer);
  return found;
}

Peer* Peers::on_route(const std::string& route) {
  for (auto& [key, peer] : peers_)
    if (peer.route == route) return &peer;
  return nullptr;
}

}  // namespace pounce::daemon
