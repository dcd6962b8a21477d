// The clients that the daemon admitted: the session of each CURVE key, the connection that it uses now, and the
// messages that wait for it. Identity comes from the key that the socket authenticated, never from a message. Thread:
// the leader token's holder.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/curve_key.h"
#include "pounce/ids.h"
#include "protocol/messages.h"
#include "worker/interpreter/client_outbox.h"

namespace pounce::worker {

struct ClientSeat {
  PublicKey key;
  std::string cloudpickle{};       // its version
  bool attached = false;           // it sent Attach with versions that fit
  std::string route;               // empty: not connected
  std::optional<TimePoint> last_seen;  // time of its last message
  Outbox outbox;
  std::deque<ObjectId> come_whole{};  // the last objects that came whole; a lost connection may have lost their Have
  std::map<TaskId, protocol::Reached> reached{};  // outcomes that the client has in part
};

class Clients {
 public:
  void admit(const SessionId& session, const PublicKey& key);
  void dismiss(const SessionId& session);
  bool admits(const PublicKey& key) const { return keys_.contains(key); }

  std::optional<SessionId> session_of(const PublicKey& key) const;
  std::optional<SessionId> session_on(const std::string& route) const;
  ClientSeat* seat(const SessionId& session);
  std::map<SessionId, ClientSeat>& seats() { return seats_; }
  const std::map<SessionId, ClientSeat>& seats() const { return seats_; }

  // Time of the last message from any client; nullopt: there was none.
  std::optional<TimePoint> last_seen() const;
  bool anyone_connected() const;

 private:
  std::map<SessionId, ClientSeat> seats_;
  std::map<PublicKey, SessionId> keys_;
};

}  // namespace pounce::worker
