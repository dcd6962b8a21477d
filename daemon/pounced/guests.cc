#include "pounced/guests.h"

#include <algorithm>

namespace pounce::daemon {

using protocol::Role;

bool Guests::make_room(TimePoint now) {
  if (guests_.size() < kMost) return true;
  const auto oldest = std::min_element(guests_.begin(), guests_.end(),
                                       [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
  if (now - oldest->second.heard < kSilent) return false;
  guests_.erase(oldest);
  return true;
}

bool Guests::admit(Guest guest, TimePoint now) {
  if (guest.role == Role::kClient) forget_session(guest.session);
  guests_.erase(guest.key);
  if (!make_room(now)) return false;
  guest.heard = now;
  if (guest.role == Role::kWorker) guest.link.value = ++last_link_;
  const PublicKey key = guest.key;
  guests_.emplace(key, std::move(guest));
  return true;
}

void Guests::forget_session(const SessionId& session) {
  std::erase_if(guests_, [&](const auto& entry) {
    return entry.second.role == Role::kClient && entry.second.session == session;
  });
}

void Guests::only_worker(const Guest& worker) {
  std::erase_if(guests_, [&](const auto& entry) {
    const Guest& other = entry.second;
    return other.role == Role::kWorker && other.lease == worker.lease && other.worker == worker.worker &&
           !other.route.empty() && other.link != worker.link;
  });
}

Guest* Guests::find(const PublicKey& key) {
  const auto found = guests_.find(key);
  return found == guests_.end() ? nullptr : &found->second;
}

Guest* Guests::client(const SessionId& session) {
  for (auto& [key, guest] : guests_)
    if (guest.role == Role::kClient && guest.session == session) return &guest;
  return nullptr;
}

Guest* Guests::worker(lease::WorkerLink link) {
  for (auto& [key, guest] : guests_)
    if (guest.role == Role::kWorker && guest.link == link) return &guest;
  return nullptr;
}

}  // namespace pounce::daemon
