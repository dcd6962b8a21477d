// What happened: everything the task core can be told. The engine (src/client) translates calls, messages and its timer
// into these. Any of them may come late, twice or for something unknown; none may break the core.
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
#include <string>
#include <variant>
#include <vector>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/resources.h"
#include "pounce/task_state.h"

namespace pounce::task {

// Where a task can run: one worker of one lease. Its interpreter of the moment is named by an epoch, and by its key where
// the batch system has started the job a second time, which counts from the same epoch again.
struct Place {
  LeaseId lease;
  WorkerIndex worker;
  constexpr auto operator<=>(const Place&) const = default;
};

// ---- the user ----------------------------------------------------------------------------------------------

struct TaskSubmitted {
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;  // how often it may run again after it was lost
  std::optional<WorkerIndex> worker{};  // that one of its lease runs it; nullopt: any
};
struct CancelAsked {
  TaskId task;
  std::chrono::milliseconds grace{5000};  // how long a running one has to stop by itself
  bool only_if_queued = false;            // one that runs goes on; it does not run a second time
};
struct TaskMoved {  // it shall run with other resources; one that has been sent to a worker stays where it is
  TaskId task;
  Resources resources;
};
struct MoreToCome {  // so many more tasks of this kind will follow those that were submitted, or fewer than was said: a pool counts them
  Resources resources;
  std::int64_t tasks = 0;
};
struct ClientClosing {};

// ---- the daemon ----------------------------------------------------------------------------------------------

struct SessionOpened {};  // also again, after a restart of pounced: the whole demand is told
struct DaemonFailed {     // it cannot be had, for a reason that waiting does not mend
  Error error;
};
struct WorkerGranted {
  RequestId request;
  Place place;
  Epoch epoch;
  PublicKey key{};
};
struct WorkerDied {
  Place place;
  Epoch epoch;
  Error error;
  std::optional<std::vector<TaskId>> started{};  // no other task was ever started there; nullopt: not known
  PublicKey key{};  // of the interpreter that died; zero: not known
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
struct RequestBound {  // its lease waits for a limit of its class, or of how many may be asked for in an hour; or does not any more
  RequestId request;
  bool bound = false;
};

// ---- workers -------------------------------------------------------------------------------------------------

struct WorkerAttached {  // each time the connection is (again) usable
  Place place;
  Epoch epoch;
};
struct WorkerUnreachable {
  Place place;
  Epoch epoch;
};
struct WorkerSilent {  // its connection stands, but nothing comes
  Place place;
  Epoch epoch;
};
struct WorkerSeen {  // something came after all
  Place place;
  Epoch epoch;
};
struct WorkerRefusedUs {  // it will never work: another version of pounce or Python
  Place place;
  Epoch epoch;
  Error error;
};
struct WorkerLeaving {  // it ends, and starts nothing any more; why it ends comes from the daemon
  Place place;
  Epoch epoch;
  std::vector<TaskId> started{};  // no other task was ever started there
};
struct TaskStarted {
  Place place;
  Epoch epoch;
  TaskId task;
};
struct OutcomeArrived {
  Place place;
  Epoch epoch;
  TaskId task;
};
struct QueryAnswered {
  Place place;
  Epoch epoch;
  TaskId task;
  RemoteTaskState state = RemoteTaskState::kUnknown;
};
struct TaskUnsendable {  // its data cannot be had or was refused by its worker: it has not run
  TaskId task;
  Error error;
};

// ---- time ----------------------------------------------------------------------------------------------------

struct TimePassed {};  // at next_deadline(), or whenever

using Event = std::variant<TaskSubmitted, CancelAsked, TaskMoved, MoreToCome, ClientClosing, SessionOpened, DaemonFailed, WorkerGranted,
                           WorkerDied, LeaseLost, RequestRefused, RequestBound, WorkerAttached, WorkerUnreachable, WorkerSilent,
                           WorkerSeen, WorkerRefusedUs, WorkerLeaving, TaskStarted, OutcomeArrived, QueryAnswered, TaskUnsendable, TimePassed>;

}  // namespace pounce::task
