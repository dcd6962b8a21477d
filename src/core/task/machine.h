// The client's task machine: which task waits, which went where, what the daemon is asked for, and how each task ends.
// Pure: no I/O, no clock, no thread. docs/states.md has its table. Thread: the leader token's holder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/task/actions.h"
#include "core/task/events.h"
#include "core/task/pools.h"

namespace pounce::task {

// The machine's numbers, each with its reason.

struct Settings {
  // Tasks in one worker at a time. One more would save a round trip, but it waits there for the tasks before it, and
  // "may have executed" when the node is lost. So only short tasks are sent ahead, while at least as many others
  // wait: a worker whose tasks follow each other within `short_task` gets twice as many, up to this; one that takes
  // longer gets one. Where a request has several workers, each has one: a task sent ahead to one could not go to
  // another that is free first.
  std::uint32_t window = 32;
  Duration short_task = std::chrono::milliseconds(2);
  // New waiting work is told at once, but not more often than this: a loop of submits is one or two messages.
  Duration demand_pause = std::chrono::milliseconds(20);
  // Everything else (running, done) can wait this long, which keeps pounced off the path of short tasks.
  Duration demand_delay = std::chrono::milliseconds(200);
  // Demand with waiting tasks is repeated this often. pounced forgets a kernel that was stopped for longer than its
  // orphan_grace, and the kernel cannot know it: without the repetition it would wait for ever.
  Duration demand_repeat = std::chrono::seconds(30);
  // A worker that neither we nor the daemon have heard from for this long has ended itself: its watchdog
  // (docs/states.md, watchdog_busy_s, 15 min) has passed. Before that its tasks may still be running.
  Duration fenced_after = std::chrono::minutes(16);
  // How long a pool's lease is expected to take to arrive until one has. Never less than `least_start`, which Slurm
  // and the start of Python always cost.
  Duration usual_start = std::chrono::seconds(2);
  Duration least_start = std::chrono::milliseconds(500);
  // The times of a pool's tasks become known gradually: while some run and others wait, the pool is planned again
  // this often.
  Duration replan = std::chrono::seconds(1);
  // The user is told of a worker that is out of reach for this long. Not at once: the death of a worker cuts its
  // connection first and is told with its cause right after; that of a job, when Slurm knows it, a few seconds later.
  Duration unreachable_after = std::chrono::seconds(5);
};

// The promise it keeps: a task starts at most once, `1 + retries` times if the user allowed it; one that may have
// started and was lost ends with the reason of the loss. Every task ends, once.

// Tasks with equal resources wait in one queue. Requests serve the queue, each with one lease at a time: one request,
// or as many as a pool wants.
using QueueId = Number<struct QueueTag, std::uint32_t>;

enum class TaskState : std::uint8_t {
  kWaiting,  // it never started: it may go anywhere
  kSent,     // in a worker's window; it may have started
  kRunning   // the worker said so
};

class Machine {
 public:
  // How many bytes of a task's data that worker has already. It decides between equally free workers.
  using Nearness = std::function<std::uint64_t(const Place&, const TaskId&)>;

  explicit Machine(Settings settings = {}, Nearness nearness = {})
      : settings_(settings), nearness_(std::move(nearness)) {}

  std::vector<Action> handle(const Event& event, TimePoint now);
  // When TimePassed should come; TimePoint::max() = never.
  TimePoint next_deadline() const;

  std::optional<TaskState> state(TaskId task) const;  // nullopt: unknown or ended
  std::optional<RequestId> request_of(TaskId task) const;
  std::optional<RequestId> request_of(const Resources& resources) const;
  std::vector<RequestId> requests_of(TaskId task) const;         // of a pool: all that serve it
  std::uint32_t workers_for(const Resources& resources) const;   // present or requested
  std::uint32_t free_workers(const Resources& resources) const;  // that could begin a task at once
  bool needs_daemon() const;                                     // something waits, runs or is held
  std::uint64_t late_results() const { return late_results_; }
  std::vector<Request> demand() const;

  void check_invariants() const;  // POUNCE_CHECKs; for tests and debug builds

 private:
  struct Task {
    QueueId queue;
    std::uint64_t sequence = 0;  // of submission: a task that goes back keeps its turn
    TaskState state = TaskState::kWaiting;
    std::optional<Place> place;
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

  // One per event; each answers every state that the event can meet.
  void on(const TaskSubmitted& event);
  void on(const CancelRequested& event);
  void on(const TaskMoved& event);
  void on(const MoreToCome& event);
  void on(const ClientClosing& event);
  void on(const SessionOpened& event);
  void on(const DaemonFailed& event);
  void on(const WorkerGranted& event);
  void on(const WorkerDied& event);
  void on(const LeaseLost& event);
  void on(const RequestRefused& event);
  void on(const RequestBound& event);
  void on(const WorkerAttached& event);
  void on(const WorkerUnreachable& event);
  void on(const WorkerSilent& event);
  void on(const WorkerSeen& event);
  void on(const WorkerRefusedUs& event);
  void on(const WorkerLeaving& event);
  void on(const TaskStarted& event);
  void on(const OutcomeArrived& event);
  void on(const QueryAnswered& event);
  void on(const TaskUnsendable& event);
  void on(const TimePassed& event);

  template <class Order>
  void emit(Order order) {
    actions_.emplace_back(std::in_place_type<Order>, std::move(order));
  }
  QueueId queue_for(const Resources& resources);
  void take_apart(QueueId queue);
  const Queue* queue_of(const Resources& resources) const;
  RequestId add_request(QueueId queue);
  void told_end(RequestId request);
  Queue& queue_of(RequestId request) { return queues_.at(requests_.at(request).queue); }
  const Queue& queue_of(RequestId request) const { return queues_.at(requests_.at(request).queue); }
  std::optional<RequestId> request_of(const Queue& queue) const;
  std::uint32_t waiting_for(const RequestRecord& record) const;
  Worker* worker_at(const Place& place, Epoch epoch);
  Task* task_at(const Place& place, Epoch epoch, TaskId id);
  void dispatch(QueueId queue);
  Worker* freest_worker(QueueId queue, const TaskId& id, Place& place);
  void send(const Place& place, Worker& worker, TaskId id);
  std::size_t room(const Worker& worker) const;
  void pace(Worker& worker);
  void take_from_window(Task& task, TaskId id);
  void send_cancel(TaskId id, const Task& task);
  void wait_again(TaskId id, Task& task);
  void end(TaskId id);
  void fail(TaskId id, Error error);
  void fail_waiting(QueueId queue, const Error& error);
  void lose_window(Worker& worker, const Error& reason, const Started& started);
  void lose(TaskId id, const Error& reason, bool may_be_the_cause);
  // lose_worker takes a copy of the place, which is often the key that is erased.
  void add_worker(const Place& place, Worker worker);
  void lose_worker(Place place, Error reason, const Started& started = std::nullopt);
  TimePoint tell_reach_at(const Worker& worker) const;
  void attached(const Place& place, Worker& worker);
  void count_start(const Worker& worker);
  void tell_reach();
  void fence();
  void plan_pools();
  void plan_pool(QueueId id, Queue& queue);
  void want_leases(QueueId id, Queue& queue, std::uint32_t wanted);
  static int rank_of(const RequestRecord& record);
  PoolView view_of(QueueId id, const Queue& queue) const;
  Duration task_time(QueueId id, const Queue& queue, Duration start) const;
  bool others_serve(RequestId refused) const;
  void renew_requests(Queue& queue);
  void plan_demand();
  void tell_demand();
  TimePoint repeat_demand_at() const;
  TimePoint replan_due() const;
  bool demand_is_urgent() const;

  Settings settings_;
  Nearness nearness_;
  std::unordered_map<TaskId, Task> tasks_;  // never iterated
  std::map<QueueId, Queue> queues_;
  // Pools: by the resources of one lease, since their size may change.
  std::map<Resources, QueueId> queue_ids_, pool_ids_;
  std::map<RequestId, RequestRecord> requests_;
  std::map<Place, Worker> workers_;
  std::map<LeaseId, Lease> leases_;
  std::uint64_t next_sequence_ = 0, late_results_ = 0;

  std::vector<Request> sent_demand_;  // what the daemon was told last
  TimePoint sent_demand_at_{};
  TimePoint demand_due_ = TimePoint::max();
  bool demand_changed_ = false;  // in the event under way
  bool session_open_ = false, closed_ = false;

  std::vector<Action> actions_;  // of the event under way
  TimePoint now_{};
};

}  // namespace pounce::task
