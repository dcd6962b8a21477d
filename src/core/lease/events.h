// What happened: everything the lease core can be told. The shell (daemon/pounced) translates messages, launcher replies
// and its timer into these. Any of them may come late, twice or for something unknown; none may break the core.
//
// The shell's duties:
//   - JournalRead comes once, first (empty when there is no journal): it starts the first sweep, and nothing is
//     submitted before a sweep has succeeded.
//   - Each SubmitJob is answered by exactly one Submitted or SubmitFailed; SweepJobs by one Swept, PollJobs by one Polled,
//     CancelJob by one CancelDone, LookAtQueue by one QueueSeen.
//   - Sessions and workers are authenticated, and a worker speaks only for its own lease, before an event is made.
// Thread: loop.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/lease/defaults.h"
#include "core/lease/journal_record.h"
#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/job.h"
#include "pounce/resources.h"
#include "pounce/result.h"
#include "pounce/room.h"

namespace pounce::lease {

// The shell's number for one admitted worker key: a new one for each HELLO, also when the same supervisor comes back.
using WorkerLink = Number<struct WorkerLinkTag, std::uint64_t>;

// ---- clients ---------------------------------------------------------------------------------------------------

struct SessionOpened {  // also again, after either side restarted: statuses and grants are repeated
  SessionId session;
  bool stays = false;  // the shell itself speaks for it: it is never silent, and ends only when closed
};
struct SessionHeard {  // a beat, or anything else, from it
  SessionId session;
};
struct SessionClosed {
  SessionId session;
};
struct Want {
  WantId id;
  Resources resources;
  std::uint32_t waiting = 0, running = 0;
  std::vector<LeaseId> holds;  // leases the client talks to; claims them after a restart of pounced
};
struct DemandChanged {  // the whole truth of one session, idempotent; opens a session that fell silent
  SessionId session;
  std::vector<Want> wants;
};

struct ReleaseAsked {  // by a person: this lease shall be given back
  LeaseId lease;
  bool now = false;  // false: as soon as it is idle. true: whatever waits for it or runs on it ends with `why`
  Error why;
};

// ---- the batch system --------------------------------------------------------------------------------------------

struct JournalRead {
  std::vector<JournalRecord> records;  // oldest first
};
struct Submitted {
  LeaseId lease;
  Incarnation job;  // submit_time_s 0: not known yet
  std::string note{};  // what was decided for it, for its story
};
struct SubmitFailed {  // a clear refusal fails the want; every other code is "outcome unknown" and a sweep decides
  LeaseId lease;
  Error error;
};
struct Swept {
  Result<std::vector<JobView>> jobs;  // all that carry the instance's tag, ended ones included; others are ignored
};
struct Polled {
  Result<std::vector<JobView>> jobs;
};
struct QueueSeen {
  Result<QueueLook> look;
};
struct CancelDone {
  LeaseId lease;
  Result<void> outcome;
};

// ---- workers ----------------------------------------------------------------------------------------------------

struct WorkerConnected {  // worker_up
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  SlurmJobId job;             // 0: the launcher has no job numbers
  std::uint32_t restart = 0;  // Slurm's restart count
  std::string node, devices;
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
};
struct WorkerHeard {  // worker_beat
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
  std::uint32_t running = 0;
  std::uint32_t warnings = 0;  // so often the batch system has warned it of its end
};
struct WorkerLost {  // its connection is gone
  LeaseId lease;
  WorkerIndex worker;
  WorkerLink link;
};

// ---- time ---------------------------------------------------------------------------------------------------------

struct TimesChanged {  // from now on
  Defaults times;
};
struct TimePassed {};  // at next_deadline(), or whenever

using Event = std::variant<SessionOpened, SessionHeard, SessionClosed, DemandChanged, ReleaseAsked, JournalRead, Submitted,
                           SubmitFailed, Swept, Polled, QueueSeen, CancelDone, WorkerConnected, InterpreterStarted, InterpreterDied,
                           WorkerHeard, WorkerLost, TimesChanged, TimePassed>;

}  // namespace pounce::lease
