// What stays of a lease: what it used, by its workers' beats while it lives and one line once it has ended; when it
// was said to start and when it did; and what its job's comment says. Hints for people. Thread: loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/lease/actions.h"
#include "core/lease/lease_core.h"
#include "launch/launcher.h"
#include "model/job.h"
#include "model/status_document.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// What each lease used of what it asked for: by its workers' beats while it lives, and one JSON line in the state
// folder once it has ended (docs/protocol.md §8). A line that cannot be written is only told in the log.

// The use of all workers of one lease.
struct LeaseUtilisation {
  lease::LeaseView view;
  std::map<WorkerIndex, protocol::WorkerBeat> workers;  // the last beat of each
  std::map<WorkerIndex, protocol::WorkerGpus> gpus{};   // the last report of each worker's driver
  TimePoint last_seen{};

  // Times are means over the workers (multiplied by the lease's GPUs they give GPU time). GPU load is the mean over
  // the workers that know it, CPU time the sum, memory the largest worker's.
  model::JobFigures figures() const;
  bool held() const;                 // a notebook holds at least one worker
  model::Used used() const;          // the figures and the GPU reports
  model::Reported reported() const;  // of the first worker that tells something
  model::UseNow now() const;         // put together as the figures are
};

class UtilisationLog {
 public:
  // Some ten thousand leases; the file before it holds as many again.
  static constexpr std::uintmax_t kMostBytes = 4 << 20;

  // Sets the file of ended leases and reads the recent ones. Nothing is written before this call.
  void open(const std::string& path, const std::string& default_class);

  void up(const lease::LeaseView& lease);
  // True: this beat is the first to say that a notebook holds the lease.
  bool beat(const protocol::WorkerBeat& beat, TimePoint now);
  void gpus(protocol::WorkerGpus report);
  // The text for its job's comment; nullopt until one of its workers has reported.
  std::optional<std::string> note(const InstanceId& instance, const LeaseId& lease, TimePoint now) const;
  std::optional<JobIdentity> job(const LeaseId& lease) const;
  void ended(const LeaseId& lease, ErrorCode code, const Cause& why, std::int64_t now_s);
  void forget(const std::function<bool(const LeaseId&)>& which);

  const LeaseUtilisation* of(const LeaseId& lease) const;
  const std::map<LeaseId, LeaseUtilisation>& live() const { return live_; }
  const std::deque<model::EndedLease>& recent() const { return recent_; }  // oldest first

 private:
  std::string path_, default_class_;
  std::map<LeaseId, LeaseUtilisation> live_;
  void remember(model::EndedLease ended);

  std::deque<model::EndedLease> recent_;
};

// What was said of when a lease starts, and when it did: one JSON line for each statement, written when the lease
// starts, into `waits.jsonl` of the state folder (0600), which is begun anew at half a megabyte with the last one kept
// beside it. For `pouncectl eta-score`.
class WaitLog {
 public:
  explicit WaitLog(std::string path) : path_(std::move(path)) {}

  void hear(const lease::Action& action, std::int64_t now_s);

 private:
  struct Prediction {
    std::int64_t stated_s = 0;
    Eta eta;
  };

  void state(const lease::TellStatus& status, std::int64_t now_s);
  void write(const LeaseId& lease, const lease::TellStatus& status, std::int64_t started_s);

  const std::string path_;
  std::map<LeaseId, std::vector<Prediction>> predictions_;
};

// What a lease's job says of itself in its comment, which Slurm's accounting keeps: for everybody's `pouncectl usage`.
// Said while the job lives: Slurm takes no more of one that has ended.
class JobNotes {
 public:
  JobNotes(const InstanceId& instance, const UtilisationLog& uses, launch::Launcher& launcher)
      : instance_(instance), uses_(uses), launcher_(launcher) {}

  void hold_begins(const LeaseId& lease);
  void ending(const LeaseId& lease);  // what it used

 private:
  void send(const LeaseId& lease, const std::string& note);

  const InstanceId instance_;
  const UtilisationLog& uses_;
  launch::Launcher& launcher_;
  std::string last_;  // the last note sent
};

}  // namespace pounce::daemon
