// The line to the supervisor: its orders come over it, and what this worker does is reported. A change is reported
// soon, and while a client is attached the same report is repeated. Thread: the leader token's holder, except where
// noted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "model/worker_report.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "worker/common/supervisor_channel.h"

namespace pounce::worker {

class SupervisorLink {
 public:
  explicit SupervisorLink(UniqueFd socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.open(); }  // false: the supervisor is gone
  void add_to(transport::PollSet& polled) const;
  void receive();
  std::optional<protocol::Header> next() { return socket_.next(); }
  void send(const protocol::Header& header) { socket_.send(header); }

  void on(const protocol::Walltime& walltime) {
    end_time_s_ = walltime.end_time_s;
    preempted_ = walltime.preempted;
  }
  void on(const protocol::YieldSteps& order);

  // What is reported.
  void changed() { activity_changed_ = true; }
  void tell_running(std::uint32_t tasks);  // queued and running ones
  void tell_staying();                     // told to leave if idle, this worker stays: reported at once
  void tell_held();                        // a notebook holds this worker
  void tell_loading(std::string module);   // empty: no module
  void tell_reported(model::Reported reported);
  bool tell_state(NamespaceState state);  // true: it is new, and a report is due
  bool saving() const { return state_ == NamespaceState::kSaving; }

  bool report_due(TimePoint now, bool watched) const;  // watched: a client is attached
  void report(TimePoint now, std::uint32_t more_activity, std::optional<TimePoint> last_seen);
  TimePoint next_report(bool watched) const;  // never once the supervisor is gone

  // A client waits, and the running loop said that it can be left; any thread, without the leader token.
  bool yield_asked() const { return yield_asked_; }
  std::int64_t end_time_s() const { return end_time_s_; }  // the job's, in unix time; 0: not known. Likewise.
  bool preempted() const { return preempted_; }            // that is its grace's end. Likewise.

 private:
  RecordSocket socket_;
  NamespaceState state_ = NamespaceState::kSaved;
  std::string loading_;
  model::Reported reported_;
  std::uint32_t running_ = 0;
  bool activity_changed_ = false, held_ = false, stays_ = false;
  TimePoint reported_at_{};
  std::atomic<bool> yield_asked_ = false;
  std::atomic<bool> preempted_ = false;
  std::atomic<std::int64_t> end_time_s_ = 0;
};

}  // namespace pounce::worker
