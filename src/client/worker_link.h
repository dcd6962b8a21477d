// The connection to one worker's Python: attach, what it has been given (functions, objects), what is on its way to it
// and from it. Sends and receives; decides nothing about tasks (core/task does). Thread: the leader token's holder.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "client/calls.h"
#include "client/incoming_outcomes.h"
#include "client/objects.h"
#include "client/worker_cache.h"
#include "client/worker_lane.h"
#include "client/worker_outbox.h"
#include "protocol/messages.h"
#include "transport/channel.h"
#include "transport/zmq_context.h"

namespace pounce::client {

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

class WorkerLink {
 public:
  WorkerLink(transport::Context& context, const KeyPair& own, std::string endpoint, const PublicKey& worker,
             protocol::Attach attach, TimePoint now);

  // Handles everything that is ready or due; looks at the monitor only if it has changed.
  std::vector<LinkEvent> pump(TimePoint now, bool monitor_changed);
  TimePoint next_deadline() const;
  const transport::Descriptors& descriptors() const { return descriptors_; }
  bool connected() const { return stage_ != Stage::kConnecting; }
  // Whether an object for such a device can be sent there before a task needs it.
  bool may_have(const std::string& device) const { return has_devices_ || !device.starts_with("cuda"); }
  bool attached() const { return stage_ == Stage::kAttached; }

  void send_task(const Call& call, std::uint32_t attempt, const Objects& objects);
  // False: it is there, or on its way.
  bool send_object(const ObjectId& id, const Object& object);
  // The objects for the bulk lane since the last call. Each waits until its source is decided.
  std::vector<ObjectId> take_wanted() { return std::exchange(wanted_, {}); }
  void offer(const ObjectId& id, const Object& object);  // by us
  // From another worker.
  void fetch_from(const std::string& source, const std::string& keys, const ObjectId& id, const Object& object);
  const WorkerLane& lane() const { return lane_; }
  // The address at which it is reached.
  std::string machine() const { return endpoint_.substr(0, endpoint_.rfind(':')); }
  void send(const protocol::Header& header, const std::vector<Buffer>& payload = {});
  void cancel(const protocol::CancelTask& order);  // behind its task, if that waits for data
  void query(std::vector<TaskId> tasks, bool no_others);
  // Whether the outcome is kept as an object when it comes.
  void keep_outcome(const TaskId& task, bool keep) { keep ? incoming_.keep(task) : incoming_.keep_not(task); }
  // Acknowledges soon, many tasks at once: one message each would wake the worker a second time for each short call.
  void acknowledge(const TaskId& task, TimePoint now);
  // The outcome stays at the worker as this object, and tasks that need it wait until the worker confirms it. Where
  // it may not stay, it has to be sent.
  bool may_keep(const Object& object) const { return lane_.takes(object); }
  void acknowledge_kept(const TaskId& task, const ObjectId& id, const Object& object);
  void post_acknowledgements();
  void flush(Outbox::Pace pace = Outbox::Pace::kNow);
  HeldObjects& held() { return held_; }
  HeldFunctions& functions() { return functions_; }
  const ClockOffset& clock() const { return clock_; }

 private:
  enum class Stage : std::uint8_t { kConnecting, kAttaching, kAttached };

  void open(TimePoint now);
  std::unique_ptr<transport::Channel> channel_to_worker();
  void exchange(std::vector<LinkEvent>& events);
  void follow_link(transport::Link link, TimePoint now, std::vector<LinkEvent>& events);
  void lose(std::vector<LinkEvent>& events);
  void start_over(TimePoint at, std::vector<LinkEvent>& events);
  void take(transport::Message message, std::vector<LinkEvent>& events);
  void take_attached(protocol::Attached attached, const transport::Message& message, std::vector<LinkEvent>& events);
  void take_refused(Error error, std::vector<LinkEvent>& events);
  void take_have(const ObjectId& object);
  void take_one(protocol::Header header, transport::Message message, std::vector<LinkEvent>& events);
  void take_beat(const protocol::Beat& beat);
  void take_outcome(protocol::Outcome header, transport::Message message, std::vector<LinkEvent>& events);
  void take_chunk(const protocol::Chunk& chunk, const transport::Message& message, std::vector<LinkEvent>& events);
  void go_without_lane();
  void follow_lane(TimePoint now, std::vector<LinkEvent>& events);
  std::optional<bulk::Lost> take_lane_news(std::vector<LinkEvent>& events);
  void leave_lane(std::vector<LinkEvent>& events);
  void keep_time(TimePoint now, std::vector<LinkEvent>& events);
  void ask_clock();
  bool stood(TimePoint now) const;  // this connection, for a while
  TimePoint lane_unused_at() const;
  void renew_lane();
  void settle_descriptors(bool stale);
  bool copies() const;

  transport::Context& context_;
  const KeyPair& own_;
  const std::string endpoint_;
  const PublicKey worker_;
  protocol::Attach attach_;

  Stage stage_ = Stage::kConnecting;
  std::unique_ptr<transport::Channel> channel_;
  transport::Descriptors descriptors_;
  Outbox outbox_;
  HeldFunctions functions_;  // sent on this connection
  HeldObjects held_;
  IncomingOutcomes incoming_;
  WorkerLane lane_;  // of this connection
  std::vector<ObjectId> wanted_;
  ClockOffset clock_;
  int clock_questions_ = 0;
  std::vector<TaskId> to_acknowledge_, to_keep_;
  TimePoint beat_due_ = TimePoint::max(), reopen_at_ = TimePoint::max(), acknowledge_at_ = TimePoint::max();
  TimePoint silent_at_ = TimePoint::max();    // unless something comes before
  TimePoint attached_by_ = TimePoint::max();  // else another connection is tried
  bool silent_ = false;
  bool has_devices_ = false;
  bool gathers_ = false;  // small messages wait in the channel for the next turn
  std::chrono::milliseconds reopen_pause_{5};
  std::uint32_t unanswered_ = 0;  // tasks sent on this connection whose outcomes have not come
  int local_attempts_ = 0;        // since a local connection last stood for a while
  TimePoint attached_at_ = TimePoint::max();
};

}  // namespace pounce::client
