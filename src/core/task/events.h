// What happened: everything the task core can be told. The engine (src/client) translates calls, messages and its
// timer into these. Any of them may come late, twice or for something unknown; none may break the core.
//
// The engine's duties:
//   - TaskIds are fresh; a place's events carry the epoch of the connection they came in on.
//   - OutcomeArrived comes when the whole result is here, and before the WorkerDied or LeaseLost that overtook it
//     (the engine drains the data connection first).
// Thread: the leader token's holder.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/curve_key.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::task {

// Where a task can run: one worker of one lease. An epoch names its current interpreter. A key tells two runs of the
// job apart: when the batch system starts a job a second time, it counts from the same epoch again.
struct WorkerRef {
  LeaseId lease;
  WorkerIndex worker;
  constexpr auto operator<=>(const WorkerRef&) const = default;
};

// ---- the user ----------------------------------------------------------------------------------------------

struct TaskSubmitted {
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;            // how often it may run again after it was lost
  std::optional<WorkerIndex> worker{};  // the worker of its lease that must run it; nullopt: any
};
struct CancelRequested {
  TaskId task;
  std::chrono::milliseconds grace{5000};  // how long a running one has to stop by itself
  bool only_if_queued = false;            // a running task goes on, but does not run a second time
};
struct TaskMoved {  // it shall run with other resources; one that has been sent to a worker stays where it is
  TaskId task;
  Resources resources;
};
// So many more tasks of this kind will be submitted, or so many fewer than announced. Pools count them.
struct MoreToCome {
  Resources resources;
  std::int64_t tasks = 0;
};
struct ClientClosing {};

// ---- the daemon ----------------------------------------------------------------------------------------------

struct SessionOpened {};  // also after a restart of pounced: the whole demand is sent
struct DaemonFailed {     // it cannot be reached, for a reason that waiting does not repair
  Error error;
};
struct WorkerGranted {
  RequestId request;
  WorkerRef place;
  Epoch epoch;
  PublicKey key{};
};
struct WorkerDied {
  WorkerRef place;
  Epoch epoch;
  Error error;
  std::optional<std::vector<TaskId>> started{};  // no other task was ever started there; nullopt: not known
  PublicKey key{};                               // of the interpreter that died; zero: not known
};
struct LeaseLost {
  RequestId request;
  LeaseId lease;
  Error error;
};
struct RequestRefused {
  RequestId request;
  Error error;
};
// Its lease waits for a limit of its class or for the limit on new leases in an hour, or no longer does.
struct RequestBound {
  RequestId request;
  bool bound = false;
};

// ---- workers -------------------------------------------------------------------------------------------------

struct WorkerAttached {  // each time the connection is (again) usable
  WorkerRef place;
  Epoch epoch;
};
struct WorkerUnreachable {
  WorkerRef place;
  Epoch epoch;
};
struct WorkerSilent {  // its connection stands, but nothing comes
  WorkerRef place;
  Epoch epoch;
};
struct WorkerSeen {  // something came after all
  WorkerRef place;
  Epoch epoch;
};
struct WorkerRefusedUs {  // it will never work: another version of pounce or Python
  WorkerRef place;
  Epoch epoch;
  Error error;
};
struct WorkerLeaving {  // it ends, and starts nothing any more; why it ends comes from the daemon
  WorkerRef place;
  Epoch epoch;
  std::vector<TaskId> started{};  // no other task was ever started there
};
struct TaskStarted {
  WorkerRef place;
  Epoch epoch;
  TaskId task;
};
struct OutcomeArrived {
  WorkerRef place;
  Epoch epoch;
  TaskId task;
  bool at_limit = false;  // it failed since the time of its worker ends
};
struct QueryAnswered {
  WorkerRef place;
  Epoch epoch;
  TaskId task;
  RemoteTaskState state = RemoteTaskState::kUnknown;
};
struct TaskUnsendable {  // its data cannot be sent or its worker refused it: it has not run
  TaskId task;
  Error error;
};

// ---- time ----------------------------------------------------------------------------------------------------

struct TimePassed {};  // at next_deadline(), or at any time

using Event = std::variant<TaskSubmitted, CancelRequested, TaskMoved, MoreToCome, ClientClosing, SessionOpened,
                           DaemonFailed, WorkerGranted, WorkerDied, LeaseLost, RequestRefused, RequestBound,
                           WorkerAttached, WorkerUnreachable, WorkerSilent, WorkerSeen, WorkerRefusedUs, WorkerLeaving,
                           TaskStarted, OutcomeArrived, QueryAnswered, TaskUnsendable, TimePassed>;

}  // namespace pounce::task
