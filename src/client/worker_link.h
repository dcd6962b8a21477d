// The link to one worker: what comes over its connection, and its time. It translates messages into events, and hands
// tasks and objects what is theirs; it decides nothing about tasks (core/task does). Thread: the leader token's holder;
// events: any.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "client/worker_connection.h"
#include "client/worker_objects.h"
#include "client/worker_tasks.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/channel.h"
#include "transport/zmq_context.h"

namespace pounce::client {

struct LinkAttached {
  protocol::Attached who;
};
struct LinkLost {};
struct LinkSilent {};  // it stands, but nothing has come for a while
struct LinkSeen {};    // something came after a LinkSilent
struct LinkRefused {   // for good: versions that do not match
  Error error;
};
struct ObjectRefused {  // only this one, for example for lack of memory
  ObjectId object;
  Error error;
};
struct TaskPrinted {
  TaskId task;
  std::string stream;
  std::string text;
  std::vector<std::string> buffers;  // of a "message"
};
using LinkEvent = std::variant<LinkAttached, LinkLost, LinkSilent, LinkSeen, LinkRefused, ObjectRefused, TaskPrinted,
                               OutcomeWhole, protocol::Started, protocol::QueryIs, protocol::Leaving, protocol::Have,
                               protocol::Serve, protocol::NotFetched>;

// How far a worker's steady clock is ahead of ours, from beats: the answer of the quickest round trip is the best one,
// since half of it bounds the error. Old answers lose weight slowly, because clocks drift.
class ClockOffset {
 public:
  void measured(std::int64_t sent_ns, std::int64_t answered_ns, std::int64_t their_clock_ns) {
    const std::int64_t round_trip = answered_ns - sent_ns;
    if (round_trip < 0 || round_trip > allowed_round_trip_) {
      allowed_round_trip_ += allowed_round_trip_ / 8;  // no trip was so quick for long: a slower one counts again
      return;
    }
    allowed_round_trip_ = round_trip;
    ahead_ns_ = their_clock_ns - (sent_ns + round_trip / 2);
  }
  std::int64_t to_ours(std::int64_t theirs_ns) const { return theirs_ns - ahead_ns_; }

 private:
  std::int64_t allowed_round_trip_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t ahead_ns_ = 0;
};

// Whether the worker still answers, while the connection is attached.
class Heartbeat {
 public:
  void begin(TimePoint now) { beat_due_ = now + kWorkerBeat, silent_at_ = now + kWorkerSilence; }
  void end() { *this = {}; }
  bool take_due(TimePoint now);     // true: a beat is to be sent
  bool heard();                     // something came. True: after a silence
  bool fell_silent(TimePoint now);  // true once
  TimePoint next_deadline() const { return std::min(beat_due_, silent_at_); }

 private:
  TimePoint beat_due_ = TimePoint::max();
  TimePoint silent_at_ = TimePoint::max();  // unless something comes before
  bool silent_ = false;
};

class WorkerLink {
 public:
  WorkerLink(transport::Context& context, const KeyPair& own, std::string endpoint, const PublicKey& worker,
             protocol::Attach attach, TimePoint now);
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  // Handles everything that is ready or due; looks at the monitor only if it has changed.
  std::vector<LinkEvent> pump(TimePoint now, bool monitor_changed);
  TimePoint next_deadline() const;
  WorkerConnection& connection() { return connection_; }
  const WorkerConnection& connection() const { return connection_; }
  WorkerTasks& tasks() { return tasks_; }
  WorkerObjects& objects() { return objects_; }
  const ClockOffset& clock() const { return clock_; }

 private:
  void exchange(std::vector<LinkEvent>& events);
  void follow_link(transport::Link link, TimePoint now, std::vector<LinkEvent>& events);
  void follow_lane(TimePoint now, std::vector<LinkEvent>& events);
  std::optional<bulk::Lost> take_lane_arrivals(std::vector<LinkEvent>& events);
  void keep_time(TimePoint now, std::vector<LinkEvent>& events);
  TimePoint lane_unused_at() const;
  void ask_clock();
  void lose(std::vector<LinkEvent>& events);
  void start_over(TimePoint at, std::vector<LinkEvent>& events);

  void take(transport::Message message, std::vector<LinkEvent>& events);
  void take_one(protocol::Header header, transport::Message message, std::vector<LinkEvent>& events);
  void take_attached(protocol::Attached& attached, const transport::Message& message, std::vector<LinkEvent>& events);
  void take_refused(protocol::Refused refused, std::vector<LinkEvent>& events);
  void take_beat(const protocol::Beat& beat);

  WorkerConnection connection_;
  WorkerObjects objects_{connection_};
  WorkerTasks tasks_{connection_, objects_};
  Heartbeat heartbeat_;
  ClockOffset clock_;
  int clock_questions_ = 0;
};

}  // namespace pounce::client
