#include "worker/interpreter/clients.h"

#include <algorithm>

namespace pounce::worker {

void Clients::admit(const SessionId& session, const PublicKey& key) {
  ClientSeat& seat = seats_[session];
  if (seat.key == key) return;  // the daemon restarted and repeats it: the connection goes on
  keys_.erase(seat.key);
  seat = ClientSeat{};
  seat.key = key;
  keys_[key] = session;
}

void Clients::dismiss(const SessionId& session) {
  const auto found = seats_.find(session);
  if (found == seats_.end()) return;
  keys_.erase(found->second.key);
  seats_.erase(found);
}

std::optional<SessionId> Clients::session_of(const PublicKey& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SessionId> Clients::session_on(const std::string& route) const {
  for (const auto& [session, seat] : seats_)
    if (seat.route == route) return session;
  return std::nullopt;
}

ClientSeat* Clients::seat(const SessionId& session) {
  const auto found = seats_.find(session);
  return found == seats_.end() ? nullptr : &found->second;
}

std::optional<TimePoint> Clients::last_seen() const {
  std::optional<TimePoint> last;
  for (const auto& [session, seat] : seats_) last = std::max(last, seat.last_seen);
  return last;
}

bool Clients::anyone_connected() const {
  return std::any_of(seats_.begin(), seats_.end(), [](const auto& entry) { return entry.second.attached; });
}

}  // namespace pounce::worker
