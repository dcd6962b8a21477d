// The rules of the task machine: free functions over one state, in the order in which a task lives. on(core, event)
// hears an event, and answers every state that the event can meet. Only this folder's sources include this. Thread:
// the leader token's holder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/task/machine.h"
#include "core/task/pools.h"

namespace pounce::task {

// ---- what is known ------------------------------------------------------------------------------------------------

// Tasks with equal resources wait in one queue. Requests serve the queue, each with one lease at a time: one request,
// or as many as a pool wants.
using QueueId = Number<struct QueueTag, std::uint32_t>;

struct Task {
  QueueId queue;
  std::uint64_t sequence = 0;  // of submission: a task that goes back keeps its turn
  TaskState state = TaskState::kWaiting;
  std::optional<WorkerRef> place;
  std::optional<WorkerIndex> only_on{};  // a rank's worker of the lease; nullopt: any
  std::uint32_t attempt = 0, retries_left = 0;
  bool cancelling = false;
  bool only_if_started = false;       // cancelled, unless it runs already
  bool is_queried = false;            // its worker was queried about it since it was sent there
  std::chrono::milliseconds grace{};  // of the cancel
};

struct Queue {
  Resources resources;
  std::map<std::uint64_t, TaskId> waiting;
  std::vector<RequestId> requests;                     // that serve it; a pool adds some as it wants them
  std::uint32_t running = 0, workers = 0, wanted = 1;  // wanted: of its requests
  std::uint64_t to_come = 0;                           // tasks that will be submitted
  TaskTimes times;                                     // of a pool
  Duration start{};                                    // how long a lease of it takes to arrive; zero: not known
  TimePoint replan_due = TimePoint::max();
};

struct RequestRecord {
  QueueId queue;
  bool wanted = true;    // in a pool: the work needs it
  bool refused = false;  // in a pool: the others go on without it until there is new work
  bool bound = false;    // another request would wait for the same limit
  TimePoint wanted_since{};
  std::uint32_t workers = 0;
  std::uint32_t running = 0, peak = 0;  // peak: of tasks started since the daemon was told
  std::uint32_t generation = 0;         // of its calls
  bool told_end = false;  // its end, or that of its lease, was told: the next call begins a new generation
};

using Started = std::optional<std::vector<TaskId>>;  // tasks that may have run; nullopt: any may

enum class Link : std::uint8_t { kConnecting, kAttached, kSilent, kUnreachable };

struct Worker {
  RequestId request;
  QueueId queue;
  Epoch epoch;
  PublicKey key;
  Link link = Link::kConnecting;
  TimePoint silent_since;        // while not attached
  bool ending = false;           // it takes no task any more
  Started started{};             // as the worker reported when it ended
  bool reported = false;         // the user was told that it cannot be reached
  std::vector<TaskId> window{};  // in the order sent: the worker runs them in that order
  std::uint32_t ahead = 1;       // how many tasks it may have, by how quickly they come back
  TimePoint begun{};             // when the first of its window was at the front
};

struct Dead {
  Epoch epoch;
  PublicKey key;
};

struct Lease {
  RequestId request;
  std::map<WorkerIndex, Dead> dead;  // the newest interpreter known to be dead
};

// When the daemon is told of tasks and leases.
struct Demand {
  std::vector<Request> sent;  // what it was told last
  TimePoint sent_at{};
  TimePoint due = TimePoint::max();
  bool changed = false;  // in the event at hand
};

// All that the machine knows, and the event at hand.
struct Core {
  Core(Settings numbers, Machine::Nearness nearer) : settings(numbers), nearness(std::move(nearer)) {}

  Settings settings;
  Machine::Nearness nearness;
  std::unordered_map<TaskId, Task> tasks;  // never iterated
  std::map<QueueId, Queue> queues;
  // Pools: by the resources of one lease, since their size may change.
  std::map<Resources, QueueId> queue_ids, pool_ids;
  QueueId last_queue;  // that a task went into, with exactly its resources; 0: none
  std::map<RequestId, RequestRecord> requests;
  std::map<WorkerRef, Worker> workers;
  std::map<LeaseId, Lease> leases;
  std::uint64_t next_sequence = 0, late_results = 0;
  Demand demand;
  bool session_open = false, closed = false;

  std::vector<Action> actions;  // of the event at hand
  TimePoint now{};

  template <class Order>
  void emit(Order order) {
    actions.emplace_back(std::in_place_type<Order>, std::move(order));
  }
};

// ---- what the user submits (submission.cc) ------------------------------------------------------------------------

void on(Core& core, const TaskSubmitted& event);
void on(Core& core, const TaskMoved& event);
void on(Core& core, const MoreToCome& event);

QueueId queue_for(Core& core, const Resources& resources);              // made, if there is none
const Queue* find_queue(const Core& core, const Resources& resources);  // null: there is none
RequestId add_request(Core& core, QueueId queue);
// No node fits its workers together: from now on a pool of as many workers serves such requests.
void take_apart(Core& core, QueueId queue);

// ---- how many leases a pool wants (pools.cc) ----------------------------------------------------------------------

void plan_pools(Core& core);
TimePoint replan_due(const Core& core);
// A pool whose further leases are refused goes on with the leases that it has.
bool others_serve(const Core& core, RequestId refused);
void count_start(Core& core, const Worker& worker);  // it is here: notes how long its lease took to arrive

// ---- what the daemon is told, and its answers (demand.cc) ---------------------------------------------------------

void on(Core& core, const SessionOpened& event);
void on(Core& core, const DaemonFailed& event);
void on(Core& core, const RequestRefused& event);
void on(Core& core, const RequestBound& event);

std::vector<Request> whole_demand(const Core& core);
void plan_demand(Core& core);  // when to tell what has changed
void tell_demand(Core& core);  // if the daemon does not know it
TimePoint repeat_demand_at(const Core& core);
// The end carries the reason that held calls back: calls that come afterwards are made in spite of it.
void note_end(Core& core, RequestId request);

// ---- workers come, and are in reach or not (workers.cc) -----------------------------------------------------------

void on(Core& core, const WorkerGranted& event);
void on(Core& core, const WorkerAttached& event);
void on(Core& core, const WorkerUnreachable& event);
void on(Core& core, const WorkerSilent& event);
void on(Core& core, const WorkerSeen& event);
void on(Core& core, const WorkerLeaving& event);

Worker* worker_at(Core& core, const WorkerRef& place, Epoch epoch);  // null: the event is late or not ours
// When to tell the user that this worker cannot be reached; max: they know, or none of their tasks depends on it.
TimePoint tell_reach_at(const Core& core, const Worker& worker);
void tell_reach(Core& core);

// ---- from the queue to a worker, and back (dispatch.cc) -----------------------------------------------------------

void on(Core& core, const TaskStarted& event);
void on(Core& core, const QueryAnswered& event);

// The task, if it is in that interpreter's window. Null: the event is late or not ours.
Task* task_at(Core& core, const WorkerRef& place, Epoch epoch, TaskId id);
void dispatch(Core& core, QueueId queue);
std::size_t room(const Core& core, const Worker& worker);  // how many tasks it may have
void take_from_window(Core& core, TaskId id, Task& task);
void wait_again(Core& core, TaskId id, Task& task);

// ---- how tasks end (workers.cc) --------------------------------------------------------------------------------

void on(Core& core, const OutcomeArrived& event);
void on(Core& core, const CancelRequested& event);
void on(Core& core, const TaskUnsendable& event);
void on(Core& core, const ClientClosing& event);

void send_cancel(Core& core, TaskId id, const Task& task);  // if one is under way
void fail(Core& core, TaskId id, Error error, LeaseId lost_with = {});
void fail_waiting(Core& core, QueueId queue, const Error& error);

// ---- tasks whose worker is lost (losses.cc) -----------------------------------------------------------------------

void on(Core& core, const WorkerDied& event);
void on(Core& core, const LeaseLost& event);
void on(Core& core, const WorkerRefusedUs& event);

// A worker that cannot be reached ends itself in time: its tasks are lost then, not before. max: in reach, or no task.
TimePoint fenced_at(const Core& core, const Worker& worker);
void fence(Core& core);
// Takes a copy of the place, which is often the key that is erased.
void lose_worker(Core& core, WorkerRef place, const Error& reason, const Started& started = std::nullopt);
void lose(Core& core, TaskId id, const Error& reason, bool may_be_the_cause);
bool runs_again(Core& core, TaskId id);  // true: the user allows it, and it waits

}  // namespace pounce::task
