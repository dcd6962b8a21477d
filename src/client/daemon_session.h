// This client's session with pounced: the connection, the questions, what pounced told about each lease, and what its
// messages mean for the core. Thread: the leader token's holder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "client/calls.h"
#include "client/workers.h"
#include "control/control_connection.h"
#include "core/task/actions.h"
#include "core/task/events.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/zmq_context.h"

namespace pounce::client {

// What pounced told about each lease, for the waiting user and for the parts of a call's time.
class LeaseCache {
 public:
  void update(const protocol::LeaseStatus& status, std::int64_t now_ns);
  void granted(const LeaseId& lease, std::int64_t now_ns) { started_ns_.try_emplace(lease, now_ns); }
  void forget(const LeaseId& lease);

  // The events of that request that a waiting user wants to see: the status of the lease that was told of last.
  std::optional<protocol::LeaseStatus> of_request(RequestId request) const;
  std::optional<protocol::LeaseStatus> of_lease(const LeaseId& lease) const;
  std::vector<protocol::LeaseStatus> all() const;
  // Names the lease, and its job where that is known, in the error's context.
  Error with_evidence(Error error, const LeaseId& lease) const;
  // When we first heard that its job runs; 0: not yet.
  std::int64_t started_ns(const LeaseId& lease) const;

 private:
  std::map<LeaseId, protocol::LeaseStatus> status_;
  std::map<RequestId, LeaseId> latest_;
  std::map<LeaseId, std::int64_t> started_ns_;
};

// Deaths of workers and ends of leases that may have overtaken results still on their way. The core is told of one when
// the connections to those workers have been read to their end, or when it is due.
class DelayedEvents {
 public:
  explicit DelayedEvents(const Workers& workers) : workers_(workers) {}

  // From now on the connections of an ended lease are read until its workers close them, for this long at most.
  void read_to_the_end(Duration most) { read_to_the_end_ = most; }
  void hold(task::WorkerDied event);
  void hold(task::LeaseLost event);
  bool empty() const { return held_.empty(); }
  TimePoint next_deadline() const;

  // Tells the events of one lease in the order in which they came: its end does not overtake its worker's death.
  template <class Tell>
  void release(TimePoint now, Tell tell) {
    std::vector<LeaseId> waiting;
    for (std::size_t next = 0; next < held_.size();) {
      if (std::ranges::count(waiting, held_[next].lease) > 0 || !may_be_told(held_[next], now)) {
        waiting.push_back(held_[next++].lease);
        continue;
      }
      const Held held = std::move(held_[next]);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(next));
      tell(held.event);
    }
  }

 private:
  struct Held {
    task::Event event;
    LeaseId lease;
    std::vector<task::WorkerRef> places;
    TimePoint due;
  };

  void hold(task::Event event, Duration most, const LeaseId& lease, std::optional<WorkerIndex> worker);
  bool may_be_told(const Held& held, TimePoint now) const;

  const Workers& workers_;
  std::vector<Held> held_;
  Duration read_to_the_end_{};
};

class DaemonSession {
 public:
  DaemonSession(transport::Context& context, const KeyPair& keys, protocol::OpenSession session, const Workers& workers,
                EventQueue& events);

  control::ControlConnection& connection() { return connection_; }
  const control::ControlConnection& connection() const { return connection_; }
  const LeaseCache& leases() const { return leases_; }
  DelayedEvents& held() { return held_; }
  const DelayedEvents& held() const { return held_; }

  Result<void> connect(const protocol::EndpointFile& endpoint);
  void cannot_connect() { is_requested_ = false; }
  void request();  // that the process starts pounced and calls connect()

  // Sends the question unless this connection has it already: `last_opening` is what the previous call returned, at
  // first 0. Returns the opening that has it; 0: there is none now, and one is requested.
  std::uint32_t ask(const protocol::Header& question, std::uint32_t last_opening);
  void send_demand(const std::vector<Request>& requests);
  void close();
  bool closed_for_good(TimePoint since) const { return connection_.down() || connection_.seen_after(since); }

  // What a message of pounced's means for the core; nullopt: nothing, or nothing yet.
  std::optional<task::Event> take(const protocol::Header& header);
  const Grant* grant_of(const task::WorkerRef& place, Epoch epoch) const;  // null: it is out of date
  void forget_grants(const LeaseId& lease);
  void tell_reach(const task::TellReach& order);

 private:
  std::optional<task::Event> on(const protocol::Granted& granted);
  std::optional<task::Event> on(const protocol::LeaseStatus& status);
  std::optional<task::Event> on(const protocol::WorkerDown& down);
  std::optional<task::Event> on(const protocol::LeaseEnded& ended);

  const protocol::OpenSession session_;
  EventQueue& events_;
  control::ControlConnection connection_;
  LeaseCache leases_;
  std::map<task::WorkerRef, Grant> grants_;
  DelayedEvents held_;
  bool is_requested_ = false, closed_ = false;
};

}  // namespace pounce::client
