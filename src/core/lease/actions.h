// What to do: the lease core's orders to the daemon, which carries them out in the order given. It drops an order for a
// peer that is gone without a word: the core hears of the loss by an event of its own. Thread: loop.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "core/lease/events.h"
#include "core/lease/state.h"
#include "job/slurm_reason.h"
#include "pounce/cause.h"
#include "pounce/error.h"

namespace pounce::lease {

// ---- journal ------------------------------------------------------------------------------------------------------

// On disk (fsync) before the next action. If it cannot be written, the daemon skips this lease's SubmitJob and answers
// it with SubmitFailed{kInternal}.
struct RecordIntent {
  JournalRecord record;
};
struct RecordOutcome {  // written, not synced: losing it is harmless, a reconciliation finds the same
  JournalRecord record;
  ErrorCode code = ErrorCode::kLeaseEnded;  // of an end; not written
};

// ---- the batch system ---------------------------------------------------------------------------------------------

struct SubmitJob {
  LeaseId lease;
  Resources resources;
  SessionId session;  // whose interpreter, directory and environment the worker gets
};
struct CancelJob {
  LeaseId lease;  // zero for an excess job that belongs to no lease
  JobIdentity job;
};
struct PollJobs {  // one RPC; never two under way
  std::vector<JobIdentity> jobs;
  std::vector<SlurmJobId> unheard{};  // no worker of these has come, and they were not cancelled by us
};
// Which jobs wait for what these hold: one RPC, and a second one where a job waits. Never two under way.
struct TakeQueueSnapshot {
  std::vector<JobIdentity> jobs;
};
struct ReconcileJobs {  // never two under way
  std::vector<SlurmJobId> unheard{};
};

// ---- workers ------------------------------------------------------------------------------------------------------

struct AdmitClient {  // before the GrantWorker it makes possible; repeated freely
  LeaseId lease;
  WorkerLink link;
  SessionId session;
};
struct DismissClient {  // cancel this session's tasks there, forget its key
  LeaseId lease;
  WorkerLink link;
  SessionId session;
  Cause why;
};
struct EndWorker {
  LeaseId lease;
  WorkerLink link;
  Cause why;
  bool only_if_idle = false;  // a worker with a task stays and says so in its beat: the lease is busy again
};

struct YieldSteps {  // its loop may be left between two steps: another job waits
  LeaseId lease;
  WorkerLink link;
};

// ---- clients ------------------------------------------------------------------------------------------------------

struct GrantWorker {  // the daemon adds endpoint and key of that interpreter
  SessionId session;
  RequestId request;
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
};
struct TellStatus {  // on each change except idle <-> busy
  SessionId session;
  RequestId request;
  LeaseId lease;
  LeaseState state = LeaseState::kRequested;
  Cause why;             // it is in this state
  job::Waiting waiting;  // what Slurm last said of its wait
  SlurmJobId job;
  std::string node, devices;
  std::int64_t start_estimate_s = 0, end_time_s = 0;  // unix; 0 = not known
  model::Given given;
  TimePoint not_before{};  // requested: it is not submitted earlier
};
struct TellWorkerDown {
  SessionId session;
  RequestId request;
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  Error error;
  EndedInterpreter ended{};
};
// Once per lease and owner, and later to each session that still holds it. The daemon adds context["log"], the path of
// the job's log.
struct TellLeaseEnded {
  SessionId session;
  RequestId request;
  LeaseId lease;
  Error error;
};
struct TellRequestFailed {  // its tasks fail with this; nothing is submitted for it until its demand changes
  SessionId session;
  RequestId request;
  Error error;
};

// ---- the daemon ---------------------------------------------------------------------------------------------------

struct EndDaemon {};  // nothing to do for daemon_idle_exit

using Action = std::variant<RecordIntent, RecordOutcome, SubmitJob, CancelJob, PollJobs, TakeQueueSnapshot,
                            ReconcileJobs, AdmitClient, DismissClient, EndWorker, YieldSteps, GrantWorker, TellStatus,
                            TellWorkerDown, TellLeaseEnded, TellRequestFailed, EndDaemon>;

}  // namespace pounce::lease
