// Whom the hall admits: CURVE keys that the door let in, each with the one session or the one lease that it may speak
// for. Whatever a message says about its sender, only this list counts. Bounded: a full list makes room by forgetting
// who was silent longest. Thread: loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/curve_key.h"
#include "core/lease/events.h"
#include "pounce/ids.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct Guest {
  protocol::Role role = protocol::Role::kClient;
  PublicKey key;
  SessionId session;       // of a client
  LeaseId lease;           // of a worker
  WorkerIndex worker;      // of a worker: known from its first worker_up on,
  bool named = false;      // which has come
  lease::WorkerLink link;  // of a worker: our number for this key
  std::string route;       // of its last message in the hall; empty: it has not spoken there
  bool missed = false;     // something could not be sent: told again when it is heard next
  TimePoint heard{};
};

class Guests {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::chrono::seconds kSilent{60};  // who spoke since then is never pushed out

  // false: the list is full of guests that are alive. A client's older key for the same session is forgotten.
  bool admit(Guest guest, TimePoint now);
  bool admits(const PublicKey& key) const { return guests_.contains(key); }
  void forget(const PublicKey& key) { guests_.erase(key); }
  void forget_session(const SessionId& session);
  // At most one accepted incarnation per lease and worker index: the others lose their entry.
  void only_worker(const Guest& worker);

  Guest* find(const PublicKey& key);
  Guest* client(const SessionId& session);
  Guest* worker(lease::WorkerLink link);
  std::size_t size() const { return guests_.size(); }

 private:
  bool make_room(TimePoint now);

  std::map<PublicKey, Guest> guests_;
  std::uint64_t last_link_ = 0;
};

}  // namespace pounce::daemon
