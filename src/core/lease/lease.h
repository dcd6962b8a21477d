// One lease: our right to one batch job's workers. Plain data, because it is what all rules decide about; the fields
// stand by the rule that writes them. `state` and `since` are changed by Transitions alone. Thread: loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/lease/events.h"
#include "core/lease/history.h"
#include "core/lease/state.h"
#include "core/lease/wait_reason.h"
#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/job.h"
#include "pounce/namespace_state.h"
#include "pounce/resources.h"

namespace pounce::lease {

// The want that a lease serves.
struct Owner {
  SessionId session;
  RequestId request;
  auto operator<=>(const Owner&) const = default;
};

// One supervisor of the job, and its interpreter.
struct Worker {
  WorkerLink link;
  PublicKey supervisor{};  // the process; zero: not known
  std::set<PublicKey> replaced{};  // processes of earlier starts of the job, whose place it has taken
  bool linked = true;  // its connection is up
  bool left = false;   // it went with a farewell: nothing runs there any more
  bool ready = false;  // an interpreter is up
  bool ever_ready = false;
  bool heard = false;  // a beat of it on this connection: what it runs is known
  bool spent = false;  // it died too often: sent away, while others of the lease go on
  Epoch epoch;         // of the last interpreter told of
  std::uint32_t running = 0;
  NamespaceState state = NamespaceState::kSaved;  // of what its tasks left, by its last word
  TimePoint last_seen;
  std::vector<SessionId> clients{};  // those of its hello, until it is clear who of them is here
  TimePoint clients_since;
  std::string devices;
  std::optional<Epoch> died;  // the last interpreter whose death was told
  std::deque<TimePoint> crashes;
};

// What the batch system last said, for the user.
struct JobFacts {
  Waiting waiting;
  std::string node, devices;
  std::int64_t start_s = 0, end_s = 0;
  std::int64_t grace_s = 0;  // it is preempted, and had so long to end; end_s is then
  bool operator==(const JobFacts&) const = default;
};

struct Lease {
  // Transitions
  LeaseId id;
  LeaseState state = LeaseState::kRequested;
  TimePoint born;
  TimePoint since;  // in this state

  // Demand; every rule says when it was busy last
  Resources resources;
  std::optional<Owner> owner;
  TimePoint unclaimed_since;  // without owner: since when
  TimePoint last_busy;        // the last moment at which something waited or ran
  std::set<SessionId> let_go;  // dismissed on it, as another's by now

  // Submission and JobNews
  std::optional<JobIdentity> job;
  JobFacts facts;
  std::uint32_t warnings = 0;     // of the batch system, that it will end: each is asked about once
  bool times_known = false;       // they are of the running job: a queued one's end is an estimate
  bool submit_under_way = false;
  bool seen_waiting = false;      // submitted, or shown as queued, since pounced started: the journal alone says nothing of what runs
  bool journalled = false;        // the journal holds it; false: only a worker's word says that it exists
  bool job_ending = false;        // the batch system is already ending it

  // Findings; doubt_from also by who brings a doubt
  std::uint64_t doubt_from = 0;   // reconciliations begun up to here prove nothing about its absence
  std::uint32_t absent = 0;       // successful reconciliations that did not show it, in a row

  // Workers
  std::map<WorkerIndex, Worker> workers;  // those that came, in the order of their indexes
  TimePoint last_seen;                    // any of them
  bool silence_noted = false;
  TimePoint last_saving;                  // the last moment at which one of them was saving

  // StepYield
  std::optional<TimePoint> stepping_since;  // its loop can be left between two steps
  std::optional<TimePoint> wanted_since;    // by somebody who waits, as far as was looked
  bool yield_told = false;                  // the worker knows

  // Ending and Release
  std::optional<Error> end;       // why it ends, once that is decided
  bool release_asked = false;     // by a user: not kept when idle
  bool only_if_idle = false;      // draining: a busy worker may refuse
  bool may_run = false;           // ending: a task of its owner, who is told when the batch system confirms the end
  bool cancelled_by_us = false;
  bool cancel_under_way = false;
  TimePoint cancel_again;         // when ending: next CancelJob if the job is still shown
  Duration cancel_wait{};

  History history;

  bool pending() const {
    return state == LeaseState::kSubmitting || state == LeaseState::kQueued;
  }
  bool active() const { return state == LeaseState::kIdle || state == LeaseState::kBusy; }
  bool over() const { return state == LeaseState::kEnded; }
  // Somebody without a lease may still take it over.
  bool claimable() const { return !owner && !end && state <= LeaseState::kBusy; }
  // A job id alone may be another job's by now: nothing is cancelled before its submit time is known (a reconciliation tells it).
  bool identified() const { return job && job->submit_time_s != 0; }
  // Nothing runs on it, nor can: its job waits, or each of its workers has said so. An adopted one, or one of the journal,
  // may still run tasks of a kernel that is gone.
  bool free() const {
    if (state == LeaseState::kQueued) return seen_waiting;
    const auto said_so = [](const auto& entry) { return entry.second.linked && entry.second.heard && entry.second.running == 0; };
    return workers.size() >= resources.workers && std::ranges::all_of(workers, said_so);
  }
  bool saving() const {
    return std::ranges::any_of(workers, [](const auto& entry) { return entry.second.state == NamespaceState::kSaving; });
  }
  // All that it runs is a loop that can be left between two steps.
  bool stepping() const {
    const auto steps = [](const auto& entry) { return entry.second.linked && entry.second.state == NamespaceState::kStepping; };
    return state == LeaseState::kBusy && !end && !workers.empty() && std::ranges::all_of(workers, steps);
  }
  // Nothing would be lost with it.
  bool saved() const {
    return free() && std::ranges::all_of(workers, [](const auto& entry) { return entry.second.state == NamespaceState::kSaved; });
  }
  // Another of its workers serves it, or may come (again): a connection that was cut says nothing of what runs there.
  bool others_go_on() const {
    const auto goes_on = [](const auto& entry) { return !entry.second.spent && !entry.second.left; };
    return workers.size() < resources.workers || std::ranges::any_of(workers, goes_on);
  }
  // All that were asked for have had an interpreter, if not at the same time.
  bool was_whole() const {
    return workers.size() >= resources.workers && std::ranges::all_of(workers, [](const auto& entry) { return entry.second.ever_ready; });
  }
  bool linked() const {
    return std::ranges::any_of(workers, [](const auto& entry) { return entry.second.linked; });
  }
  bool ready() const {
    return std::ranges::any_of(workers, [](const auto& entry) { return entry.second.ready; });
  }
  std::uint32_t running() const {  // tasks, by the workers' last beats
    std::uint32_t sum = 0;
    for (const auto& [index, worker] : workers) sum += worker.running;
    return sum;
  }
};

// What the journal is told of it. why: it ended.
JournalRecord journal_line(const Lease& lease, JournalRecord::Kind kind, const Cause& why = {});

// An error of something on it, for its owner: which lease it was, and which job.
Error with_evidence(const Lease& lease, Error error);

}  // namespace pounce::lease
