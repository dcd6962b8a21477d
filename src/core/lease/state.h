// What the lease core remembers: the states of a lease and the triggers that it can hear, a lease with its workers and
// its history, a session with its requests. Plain data, because every rule decides about it. Thread: loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/lease/events.h"
#include "job/slurm_reason.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/worker_report.h"
#include "pounce/cause.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::lease {

// ---- states -------------------------------------------------------------------------------------------------------

// docs/states.md has the table. `idle` and `busy` are the two faces of an active lease.
enum class LeaseState : std::uint8_t {
  kRequested,   // a request needs it; nothing is submitted yet
  kSubmitting,  // the intent is in the journal; whether a job exists is not known
  kQueued,      // Slurm has the job; it waits
  kStarting,    // the job runs; no interpreter is ready
  kIdle,        // ready; nothing waits for it, nothing runs on it
  kBusy,        // ready; a task waits for it or runs on it
  kDraining,    // the worker was told to end; not yet cancelled in Slurm
  kEnding,      // cancelled or ending by itself; Slurm still shows the job
  kEnded        // no job is left
};
inline constexpr int kLeaseStates = 9;

constexpr std::string_view word(LeaseState state) {
  constexpr std::string_view kWords[kLeaseStates] = {"requested", "submitting", "queued", "starting", "idle",
                                                     "busy",      "draining",   "ending", "ended"};
  return kWords[static_cast<int>(state)];
}

// Its client waits for Slurm, or for the submission. Also by the state's word, as documents have it.
constexpr bool no_job_runs_yet(LeaseState state) { return state <= LeaseState::kQueued; }
constexpr bool no_job_runs_yet(std::string_view state) {
  for (int n = 0; n < kLeaseStates; ++n)
    if (word(static_cast<LeaseState>(n)) == state) return no_job_runs_yet(static_cast<LeaseState>(n));
  return false;
}

// ---- the transition table -----------------------------------------------------------------------------------------

// What one lease can hear. Several events of events.h become one kind here, one becomes several.
enum class Trigger : std::uint8_t {
  kDemandCame,     // its request has tasks waiting or running
  kDemandGone,     // its request has none any more
  kOwnerGone,      // its session closed, fell silent, or now asks for other resources
  kReleaseAsked,   // a user wants it given back, now or when it is idle
  kSubmitted,      // Slurm took the job
  kSubmitRefused,  // Slurm said clearly no
  kSubmitUnclear,  // whether a job exists is not known
  kAbsent,         // a reconciliation that began after all that is known does not show its job
  kJobUnknown,     // a job state this build cannot name
  kJobQueued,
  kJobRunning,
  kJobEnding,
  kJobEnded,
  kJobRequeued,  // the same job id with a higher restart count
  kCancelDone,
  kWorkerConnected,
  kInterpreterStarted,
  kInterpreterDied,
  kWorkerSeen,
  kWorkerLost,
  kOtherJobWaits,  // another job waits for what it holds, while it is kept warm
  kTimePassed      // one of the state's own deadlines
};
inline constexpr int kTriggers = 22;

std::string_view word(Trigger trigger);

// The table's answer to one (state, trigger): the states that may follow, or why the trigger is ignored. The rules look
// here before they act, and the tests hold every transition to it; docs/states.md prints the table.
struct Cell {
  std::uint16_t next = 0;      // bit per LeaseState that may follow; 0: ignored
  std::string_view ignored{};  // why

  constexpr bool allows(LeaseState state) const { return (next >> static_cast<int>(state) & 1u) != 0; }
};

const Cell& cell(LeaseState state, Trigger trigger);

// ---- history ------------------------------------------------------------------------------------------------------

struct HistoryLine {
  TimePoint when;
  Cause why{};
  LeaseState from{}, to{};  // the same: something happened in this state
  bool operator==(const HistoryLine&) const = default;
};

// The last things that happened to one lease, for failures and for pouncectl: a ring, so that a lease that lives for
// days does not grow.
class History {
 public:
  static constexpr std::size_t kLines = 64;

  void add(TimePoint when, Cause why) { add({when, std::move(why)}); }
  void add(TimePoint when, CauseCode why) { add({when, Cause{why}}); }
  void enter(TimePoint when, LeaseState from, LeaseState to, Cause why) { add({when, std::move(why), from, to}); }
  const std::deque<HistoryLine>& lines() const { return lines_; }

 private:
  void add(HistoryLine line) {
    if (!lines_.empty()) {
      HistoryLine last = lines_.back();
      last.when = line.when;
      if (last == line) return;  // the same late news again and again
    }
    if (lines_.size() == kLines) lines_.pop_front();
    lines_.push_back(std::move(line));
  }

  std::deque<HistoryLine> lines_;
};

// ---- leases -------------------------------------------------------------------------------------------------------

// The request that a lease serves.
struct Owner {
  SessionId session;
  RequestId request;
  auto operator<=>(const Owner&) const = default;
};

// One supervisor of the job, and its interpreter.
struct Worker {
  WorkerLink link;
  PublicKey supervisor{};          // the process; zero: not known
  std::set<PublicKey> replaced{};  // processes of earlier starts of the job, whose place it has taken
  bool linked = true;              // its connection is up
  bool left = false;               // it said goodbye: nothing runs there any more
  bool ready = false;              // an interpreter is up
  bool ever_ready = false;
  bool heard = false;  // it has beaten on this connection: what it runs is known
  bool spent = false;  // it died too often: sent away, while others of the lease go on
  Epoch epoch;         // of the last interpreter that it spoke of
  std::uint32_t running = 0;
  NamespaceState state = NamespaceState::kSaved;  // of what its tasks left, by its last beat
  TimePoint last_seen;
  std::vector<SessionId> clients{};  // those of its hello, until it is clear which of them are here
  TimePoint clients_since;
  std::string devices;
  std::optional<Epoch> died;  // the last interpreter whose death was told
  std::deque<TimePoint> crashes;
};

// What the batch system last said, for the user.
struct JobFacts {
  job::Waiting waiting;
  std::string node, devices;
  std::int64_t start_s = 0, end_s = 0;
  model::Given given;
  std::int64_t grace_s = 0;  // it is preempted, and had so long to end; end_s is then
  bool operator==(const JobFacts&) const = default;
};

// Our right to one batch job's workers. The fields stand by the source that writes them.
struct Lease {
  // lease_core.cc: only enter() changes state and since
  LeaseId id;
  LeaseState state = LeaseState::kRequested;
  TimePoint born;
  TimePoint since;  // in this state

  // demand.cc; every source says when the lease was busy last
  Resources resources;
  std::optional<Owner> owner;
  TimePoint unclaimed_since;           // without owner: since when
  TimePoint last_busy;                 // the last moment at which a task waited or ran
  std::set<SessionId> let_go;          // dismissed on it, because another session owns it by now
  std::optional<SessionId> left_by{};  // a session that is gone, and not dismissed: its task went on

  // submission.cc and job.cc
  std::optional<JobIdentity> job;
  JobFacts facts;
  std::uint32_t warnings = 0;  // of the batch system, that it will end: each is asked about once
  bool times_known = false;    // they are of the running job: a queued one's end is an estimate
  bool submit_under_way = false;
  bool seen_waiting =
      false;                // submitted, or shown as queued, since pounced started: the journal does not say what runs
  bool journalled = false;  // the journal holds it; false: only a worker's word says that it exists
  bool job_ending = false;  // the batch system is already ending it

  // reconciliation.cc; doubt_from also by the source that brings a doubt
  std::uint64_t doubt_from = 0;  // reconciliations begun up to here prove nothing about its absence
  std::uint32_t absent = 0;      // successful reconciliations that did not show it, in a row

  // worker.cc
  std::map<WorkerIndex, Worker> workers;  // those that came, in the order of their indexes
  TimePoint last_seen;                    // any of them
  bool silence_noted = false;
  TimePoint last_saving;  // the last moment at which one of them was saving

  // idle_reuse.cc
  std::optional<TimePoint> stepping_since;  // its loop can be left between two steps
  std::optional<TimePoint> wanted_since;    // a job waits for what it holds, by the looks at the queue so far
  bool yield_told = false;                  // the worker knows

  // release.cc
  std::optional<Error> end;    // why it ends, once that is decided
  bool release_asked = false;  // by a user: not kept when idle
  bool only_if_idle = false;   // draining: a busy worker may refuse
  bool may_run = false;        // ending: a task of its owner, who is told when the batch system confirms the end
  bool cancelled_by_us = false;
  bool cancel_under_way = false;
  TimePoint cancel_again;  // when ending: next CancelJob if the job is still shown
  Duration cancel_wait{};

  History history;

  bool pending() const { return state == LeaseState::kSubmitting || state == LeaseState::kQueued; }
  bool active() const { return state == LeaseState::kIdle || state == LeaseState::kBusy; }
  bool over() const { return state == LeaseState::kEnded; }
  // A request without a lease may still take it over.
  bool claimable() const { return !owner && !end && state <= LeaseState::kBusy; }
  // A job id alone may be another job's by now: nothing is cancelled before its submit time is known (a reconciliation
  // tells it).
  bool identified() const { return job && job->submit_time_s != 0; }
  // If its job is cancelled, its node may not have been able to start it.
  bool unheard() const { return job && workers.empty() && !cancelled_by_us; }
  // Nothing runs on it, nor can: its job waits, or each of its workers has said so. An adopted lease, or one of the
  // journal, may still run tasks of a kernel that is gone.
  bool free() const {
    if (state == LeaseState::kQueued) return seen_waiting;
    return is_complete() && all_workers([](const Worker& one) { return one.linked && one.heard && one.running == 0; });
  }
  bool saving() const {
    return any_worker([](const Worker& one) { return one.state == NamespaceState::kSaving; });
  }
  // All that it runs is a loop that can be left between two steps.
  bool stepping() const {
    const auto steps = [](const Worker& one) { return one.linked && one.state == NamespaceState::kStepping; };
    return state == LeaseState::kBusy && !end && !workers.empty() && all_workers(steps);
  }
  // It runs a task that goes on without its client.
  bool runs_kept() const {
    return any_worker([](const Worker& one) { return one.state == NamespaceState::kKept && one.running > 0; });
  }
  // Nothing would be lost with it.
  bool saved() const {
    return free() && all_workers([](const Worker& one) { return one.state == NamespaceState::kSaved; });
  }
  // Another of its workers serves it, or may come (again): a connection that was cut says nothing of what runs there.
  bool others_go_on() const {
    return !is_complete() || any_worker([](const Worker& one) { return !one.spent && !one.left; });
  }
  // All workers of the request have had an interpreter, if not at the same time.
  bool was_whole() const {
    return is_complete() && all_workers([](const Worker& one) { return one.ever_ready; });
  }
  bool linked() const {
    return any_worker([](const Worker& one) { return one.linked; });
  }
  bool ready() const {
    return any_worker([](const Worker& one) { return one.ready; });
  }
  std::uint32_t running() const {  // tasks, by the workers' last beats
    std::uint32_t sum = 0;
    for (const auto& [index, worker] : workers) sum += worker.running;
    return sum;
  }

 private:
  bool is_complete() const { return workers.size() >= resources.workers; }
  bool all_workers(bool (*holds)(const Worker&)) const {
    return std::ranges::all_of(workers, [holds](const auto& entry) { return holds(entry.second); });
  }
  bool any_worker(bool (*holds)(const Worker&)) const {
    return std::ranges::any_of(workers, [holds](const auto& entry) { return holds(entry.second); });
  }
};

// ---- sessions -----------------------------------------------------------------------------------------------------

// What one request wants, and what stands in its way.
struct RequestState {
  Request request;
  std::optional<Error> failed;  // a clear refusal; the counts below are those of the demand that failed
  std::uint32_t failed_waiting = 0, failed_running = 0;
  TimePoint not_before{};   // no submission earlier (back-off, foreign scancel)
  bool on_purpose = false;  // a person ended its lease: new calls are made in spite of not_before
  TimePoint starts_at{};    // when this daemon may start a lease for it, where starts are counted
  Cause wait_reason;        // why not, for the user
  Duration backoff{};
  std::uint32_t bad_starts = 0;  // leases in a row that ended before each of their workers had an interpreter

  // Not their sum, which may wrap: a client says them.
  bool demanded() const { return request.waiting > 0 || request.running > 0; }
};

struct Session {
  TimePoint last_seen;
  bool stays = false;  // never silent
  // Known from the journal, and has not said yet what it wants: until then its leases count as needed.
  std::optional<TimePoint> awaited_until;
  std::map<RequestId, RequestState> requests;
};

}  // namespace pounce::lease
