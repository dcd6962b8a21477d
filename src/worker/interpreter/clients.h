// The clients that the daemon admitted: whose CURVE key is which session, on which connection it speaks now, and what
// waits to be sent to it. Identity comes from the key that the socket authenticated, never from a message.
// Thread: the leader token's holder.
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
  bool attached = false;           // said Attach with versions that fit
  std::string route;               // empty: not connected
  std::optional<TimePoint> last_seen;  // last message
  Outbox outbox;
  std::deque<ObjectId> come_whole{};           // the last of them: a lost connection may have lost the word of it
  std::map<TaskId, protocol::Reached> reached{};  // outcomes that it has in part
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

  // The client that was heard last; nullopt: none ever.
  std::optional<TimePoint> last_seen() const;
  bool anyone_connected() const;

 private:
  std::map<SessionId, ClientSeat> seats_;
  std::map<PublicKey, SessionId> keys_;
};

}  // namespace pounce::worker
