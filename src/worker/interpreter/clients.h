// The clients that the daemon admitted: whose CURVE key is which session, on which connection it speaks now, and what
// waits to be sent to it. Identity comes from the key that the socket authenticated, never from a message. Thread: the
// leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "memory/block_pool.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/outcome_transfer.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

// What waits to be sent to one client, in order: small messages first come first served, bulk data (the large buffers
// of outcomes) behind them, so that a gigabyte on its way never delays an answer.
class Outbox {
 public:
  void post(const protocol::Header& header, const std::vector<Bytes>& payload = {});
  // Its bulk data follows once everything posted so far is gone: in chunks, or as memory with its header.
  void post_outcome(OutcomeMessage outcome, data::Way way);
  // The client acknowledged or restarted, so the rest of that transfer is not wanted.
  void drop_bulk(const TaskId& task);
  void clear();
  void pack(bool packs) { packs_ = packs; }  // packs several small messages into one, for a client that can read that
  bool packs() const { return packs_; }
  std::size_t waiting() const { return small_.size(); }

  bool empty() const { return small_.empty() && bulk_.empty(); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }  // of small messages; grows while the reader sleeps
  enum class Flushed : std::uint8_t { kAll, kBlocked, kMore };
  // Sends until the socket takes no more (kBlocked) or some milliseconds have passed (kMore). Empties the queue if
  // the peer is gone: what matters is kept elsewhere and sent again when the client comes back.
  Flushed flush(DataSockets& sockets, const std::string& route, memory::BlockPool& blocks);

 private:
  transport::Sent send_small(DataSockets& sockets, const std::string& route);

  std::deque<transport::Message> small_;
  std::size_t waiting_bytes_ = 0;
  std::deque<OutcomeTransfer> bulk_;
  bool packs_ = false;
};

struct ClientSeat {
  PublicKey key;
  std::string cloudpickle{};           // its version
  bool attached = false;               // it sent Attach with versions that fit
  std::string route;                   // empty: not connected
  std::optional<TimePoint> last_seen;  // time of its last message
  Outbox outbox;
  std::deque<ObjectId> come_whole{};  // the last objects that came whole; a lost connection may have lost their Have
  std::map<TaskId, protocol::Reached> reached{};  // outcomes that the client has in part

  void refuse(Error error) { outbox.post(protocol::Refused{std::move(error)}); }
  void refuse(ErrorCode code, std::string why) { refuse(Error{code, std::move(why), {}, {}}); }
};

struct DataMessage {  // one message of an admitted, attached client
  SessionId session;
  ClientSeat& seat;
  transport::Message& frames;
};

class Clients {
 public:
  Clients(DataSockets& sockets, memory::BlockPool& blocks) : sockets_(sockets), blocks_(blocks) {}

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

  bool passes_memory(const ClientSeat& seat) const { return sockets_.passes_memory(seat.route); }
  void flush();  // every outbox
  // Over the network leaves an outcome to the next turn, so that outcomes of tasks that end within microseconds go as
  // one message; else flushes. If the next task takes longer, the stand-by thread sends them; it looks at once.
  void gather(const ClientSeat* seat);
  bool more() const { return more_; }    // an outbox has more to send, or outcomes gather: the next turn does not sleep
  void forget_more() { more_ = false; }  // that turn is under way
  bool blocked() const { return blocked_; }  // an outbox could not be emptied

 private:
  DataSockets& sockets_;
  memory::BlockPool& blocks_;
  std::map<SessionId, ClientSeat> seats_;
  std::map<PublicKey, SessionId> keys_;
  bool more_ = false, blocked_ = false;
  TimePoint flushed_at_{};
};

}  // namespace pounce::worker
