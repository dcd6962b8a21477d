// The peers that the control channel admits: CURVE keys that passed the handshake, each with the one session or lease
// that it may speak for. Only this list counts, whatever a message says about its sender. The list is bounded: a full
// list forgets the peer that was silent longest. Thread: loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "core/lease/events.h"
#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct Peer {
  protocol::Role role = protocol::Role::kClient;
  PublicKey key;
  SessionId session;        // of a client
  LeaseId lease;            // of a worker
  WorkerIndex worker;       // of a worker: known from its first worker_up on
  bool named = false;       // its first worker_up has come
  std::string node;         // of a worker, as its worker_up says
  lease::WorkerLink link;   // of a worker: our number for this key
  protocol::Walltime told;  // of a worker: what it was last told
  std::string route;        // of its last message on the control channel; empty: it has not spoken there
  bool missed = false;      // a message could not be sent: everything is repeated when it speaks next
  TimePoint last_seen{};
};

class Peers {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::chrono::seconds kSilent{60};  // a peer heard within this time is never pushed out

  // false: the list is full of peers that are alive. A client's older key for the same session is forgotten.
  bool admit(Peer peer, TimePoint now);
  bool admits(const PublicKey& key) const { return peers_.contains(key); }
  void forget(const PublicKey& key) { peers_.erase(key); }
  void forget_session(const SessionId& session);
  void forget_lease(const LeaseId& lease);  // its workers; the lease has ended
  // Keeps one accepted peer per lease and worker index: the others that have spoken lose their entry.
  void only_worker(const Peer& worker);

  Peer* find(const PublicKey& key);
  Peer* client(const SessionId& session);
  Peer* worker(lease::WorkerLink link);
  std::vector<Peer*> workers(const LeaseId& lease);  // those that have sent worker_up
  Peer* on_route(const std::string& route);
  std::size_t size() const { return peers_.size(); }

 private:
  bool make_room(TimePoint now);

  std::map<PublicKey, Peer> peers_;
  std::uint64_t last_link_ = 0;
};

}  // namespace pounce::daemon
