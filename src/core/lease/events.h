// What happened: everything that the lease core can hear, and what the journal remembers of a lease. The daemon
// (daemon/pounced) translates messages, launcher replies and its timer into events. Any event may come late, twice or
// for something unknown; none may break the core.
//
// The daemon's duties:
//   - JournalRead comes once, first (empty when there is no journal): it starts the first reconciliation, and nothing
//   is
//     submitted before a reconciliation has succeeded.
//   - Each SubmitJob is answered by exactly one Submitted or SubmitFailed; ReconcileJobs by one ReconcileDone, PollJobs
//   by
//     one Polled, CancelJob by one CancelDone, TakeQueueSnapshot by one QueueSnapshotTaken.
//   - Sessions and workers are authenticated, and a worker speaks only for its own lease, before an event is made.
// Thread: loop.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/curve_key.h"
#include "core/lease/defaults.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/queue_snapshot.h"
#include "model/task.h"
#include "model/worker_report.h"
#include "pounce/cause.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce::lease {

// The daemon's number for one admitted worker key: a new one for each HELLO, also when the same supervisor comes back.
using WorkerLink = Number<struct WorkerLinkTag, std::uint64_t>;

// What pounced must remember of a lease across its own death. The daemon writes each record as one checksummed JSON
// line; an intent is on disk before the submission that follows it. The journal is a hint, Slurm is the truth.
struct JournalRecord {
  enum class Kind : std::uint8_t {
    kIntent,     // about to submit: lease, resources, session, request
    kSubmitted,  // a job exists: lease, job
    kEnded       // no job is left: lease, why
  };
  Kind kind = Kind::kIntent;
  LeaseId lease;
  Resources resources;
  SessionId session;
  RequestId request;
  JobIdentity job;
  Cause why;  // it ended
  bool operator==(const JournalRecord&) const = default;

  static constexpr auto fields() {
    return table(field("kind", &JournalRecord::kind), field("lease", &JournalRecord::lease),
                 field("resources", &JournalRecord::resources, "of an intent").only_if_set(),
                 field("session", &JournalRecord::session, "of an intent").only_if_set(),
                 field("request", &JournalRecord::request, "of an intent").only_if_set(),
                 field("job", &JournalRecord::job, "of a submission").only_if_set(),
                 field("cause", &JournalRecord::why, "of the end").only_if_set());
  }
};

constexpr auto words(JournalRecord::Kind) { return words_of<JournalRecord::Kind>({"intent", "submitted", "ended"}); }

// ---- clients ------------------------------------------------------------------------------------------------------

struct SessionOpened {  // also again, after either side restarted: statuses and grants are repeated
  SessionId session;
  bool stays = false;  // the daemon itself speaks for it: it is never silent, and ends only when closed
};
struct SessionSeen {  // a beat, or anything else, from it
  SessionId session;
};
struct SessionClosed {
  SessionId session;
};
struct DemandChanged {  // the whole truth of one session, idempotent; opens a session that fell silent
  SessionId session;
  std::vector<Request> requests;
};

struct ReleaseAsked {  // a user wants this lease given back
  LeaseId lease;
  bool now = false;  // false: as soon as it is idle. true: what waits for it or runs on it ends with `why`
  Error why;
};

// ---- the batch system ---------------------------------------------------------------------------------------------

struct JournalRead {
  std::vector<JournalRecord> records;  // oldest first
};
struct Submitted {
  LeaseId lease;
  JobIdentity job;     // submit_time_s 0: not known yet
  std::string note{};  // what was decided for it, for its history
};
// A clear refusal fails the request. Every other code is "outcome unknown", and a reconciliation decides.
struct SubmitFailed {
  LeaseId lease;
  Error error;
};
struct ReconcileDone {
  Result<std::vector<JobView>> jobs;  // all that carry the instance's tag, ended ones included; others are ignored
};
struct Polled {
  Result<std::vector<JobView>> jobs;
};
struct QueueSnapshotTaken {
  Result<QueueSnapshot> look;
};
struct CancelDone {
  LeaseId lease;
  Result<void> outcome;
};

// ---- workers ------------------------------------------------------------------------------------------------------

struct WorkerConnected {  // worker_up
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  SlurmJobId job;             // 0: the launcher has no job numbers
  std::uint32_t restart = 0;  // Slurm's restart count
  std::string node, devices;
  PublicKey supervisor{};            // its process has it for life; zero: not known
  std::vector<SessionId> clients{};  // admitted there, also by an earlier pounced
};
struct InterpreterStarted {  // interpreter_up, or worker_up with a ready interpreter (then after WorkerConnected)
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  Epoch epoch;
};
struct InterpreterDied {
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  Epoch epoch;
  Error error;
  bool restarting = true;
  EndedInterpreter ended{};
};
struct WorkerSeen {  // worker_beat
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  std::uint32_t running = 0;
  std::uint32_t warnings = 0;  // so often the batch system has warned it of its end
  NamespaceState state = NamespaceState::kSaved;
};
struct WorkerLost {  // its connection is gone, or it says that it leaves (also while it still saves)
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  bool cut = false;                               // without a word: it may be there still, and come back
  NamespaceState state = NamespaceState::kSaved;  // unless it was cut
};

// ---- time ---------------------------------------------------------------------------------------------------------

struct TimesChanged {  // from now on
  Defaults times;
};
struct TimePassed {};  // at next_deadline(), or at any other time

using Event =
    std::variant<SessionOpened, SessionSeen, SessionClosed, DemandChanged, ReleaseAsked, JournalRead, Submitted,
                 SubmitFailed, ReconcileDone, Polled, QueueSnapshotTaken, CancelDone, WorkerConnected,
                 InterpreterStarted, InterpreterDied, WorkerSeen, WorkerLost, TimesChanged, TimePassed>;

}  // namespace pounce::lease
