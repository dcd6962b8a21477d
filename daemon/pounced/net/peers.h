// Whom the control channel admits: CURVE keys that the handshake endpoint let in, each with the one session or lease that
// it may speak for. Whatever a message says about its sender, only this list counts. Bounded: a full list makes room by
// forgetting who was silent longest. Thread: loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "core/lease/events.h"
#include "pounce/ids.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct Peer {
  protocol::Role role = protocol::Role::kClient;
  PublicKey key;
  SessionId session;       // of a client
  LeaseId lease;           // of a worker
  WorkerIndex worker;      // of a worker: known from its first worker_up on,
  bool named = false;      // which has come
  lease::WorkerLink link;  // of a worker: our number for this key
  std::int64_t told_end_s = 0;  // of a worker: when its job's time ends, as it was last told
  std::string route;       // of its last message on the control channel; empty: it has not spoken there
  bool missed = false;     // something could not be sent: told again when it is heard next
  TimePoint last_seen{};
};

class Peers {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::chrono::seconds kSilent{60};  // who spoke since then is never pushed out

  // false: the list is full of peers that are alive. A client's older key for the same session is forgotten.
  bool admit(Peer peer, TimePoint now);
  bool admits(const PublicKey& key) const { return peers_.contains(key); }
  void forget(const PublicKey& key) { peers_.erase(key); }
  void forget_session(const SessionId& session);
  void forget_lease(const LeaseId& lease);  // its workers: it has ended
  // At most one accepted job identity per lease and worker index: the others lose their entry.
  void only_worker(const Peer& worker);

  Peer* find(const PublicKey& key);
  Peer* client(const SessionId& session);
  Peer* worker(lease::WorkerLink link);
  std::vector<Peer*> workers(const LeaseId& lease);  // that have come
  Peer* on_route(const std::string& route);
  std::size_t size() const { return peers_.size(); }

 private:
  bool make_room(TimePoint now);

  std::map<PublicKey, Peer> peers_;
  std::uint64_t last_link_ = 0;
};

}  // namespace pounce::daemon
