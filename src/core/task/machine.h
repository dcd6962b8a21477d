// The client's task machine: which task waits, which went where, what the daemon is asked for, and how each task ends.
// Pure: no I/O, no clock, no thread. docs/states.md has its table.
//
// The promise it keeps: a task starts at most once, `1 + retries` times if the user allowed it; one that may have
// started and was lost ends with the reason of the loss. Every task ends, once.
// Thread: the leader token's holder.
#pragma once

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
#include "core/task/settings.h"

namespace pounce::task {

enum class TaskState : std::uint8_t {
  kWaiting,  // it never started: it may go anywhere
  kSent,     // in a worker's window; it may have started
  kRunning   // the worker said so
};

class Machine {
 public:
  // How many bytes of what a task needs that worker has already; asked where workers are equally free.
  using Nearness = std::function<std::uint64_t(const Place&, const TaskId&)>;

  explicit Machine(Settings settings = {}, Nearness nearness = {})
      : settings_(settings), nearness_(std::move(nearness)) {}

  std::vector<Action> handle(const Event& event, TimePoint now);
  // When TimePassed should come; TimePoint::max() = never.
  TimePoint next_deadline() const;

  std::optional<TaskState> state(TaskId task) const;  // nullopt: unknown or ended
  std::optional<RequestId> request_of(TaskId task) const;
  std::optional<RequestId> request_of(const Resources& resources) const;
  bool needs_daemon() const;                          // something waits, runs or is held
  std::uint64_t late_results() const { return late_results_; }
  std::vector<Request> demand() const;

  void check_invariants() const;  // POUNCE_CHECKs; for tests and debug builds

 private:
  struct Task {
    RequestId request;
    std::uint64_t sequence = 0;  // of submission: a task that goes back keeps its turn
    TaskState state = TaskState::kWaiting;
    std::optional<Place> place;
    std::uint32_t attempt = 0, retries_left = 0;
    bool cancelling = false;
    bool only_if_started = false;       // cancelled, unless it runs already
    bool asked = false;                 // its worker was asked about it since it was sent there
    std::chrono::milliseconds grace{};  // of the cancel
  };
  struct RequestRecord {
    Resources resources;
    std::map<std::uint64_t, TaskId> waiting;
    std::uint32_t running = 0, peak = 0;  // peak: of tasks started since the daemon was told
    std::uint32_t generation = 0;         // of its calls
    bool told_end = false;                // of a lease of it, or of it: the next call begins a new generation
  };
  using Started = std::optional<std::vector<TaskId>>;  // tasks that may have run; nullopt: any may
  enum class Link : std::uint8_t { kConnecting, kAttached, kSilent, kUnreachable };
  struct Worker {
    RequestId request;
    Epoch epoch;
    PublicKey key;
    Link link = Link::kConnecting;
    TimePoint silent_since;       // while not attached
    bool ending = false;          // it takes no task any more
    bool reported = false;        // the user was told that it cannot be reached
    std::vector<TaskId> window{}; // in the order sent: the worker runs them in that order
    std::uint32_t ahead = 1;      // how many it may have, from how quickly they come back
    TimePoint begun{};            // when the first of its window was at the front
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
  void on(const CancelAsked& event);
  void on(const TaskMoved& event);
  void on(const ClientClosing& event);
  void on(const SessionOpened& event);
  void on(const DaemonFailed& event);
  void on(const WorkerGranted& event);
  void on(const WorkerDied& event);
  void on(const LeaseLost& event);
  void on(const RequestRefused& event);
  void on(const WorkerAttached& event);
  void on(const WorkerUnreachable& event);
  void on(const WorkerSilent& event);
  void on(const WorkerSeen& event);
  void on(const WorkerRefusedUs& event);
  void on(const TaskStarted& event);
  void on(const OutcomeArrived& event);
  void on(const QueryAnswered& event);
  void on(const TaskUnsendable& event);
  void on(const TimePassed& event);

  template <class Order>
  void emit(Order order) {
    actions_.emplace_back(std::in_place_type<Order>, std::move(order));
  }
  RequestId request_for(const Resources& resources);
  void told_end(RequestId request);
  Worker* worker_at(const Place& place, Epoch epoch);
  Task* task_at(const Place& place, Epoch epoch, TaskId id);
  void dispatch(RequestId request);
  Worker* freest_worker(RequestId request, const TaskId& task, Place& place);
  std::size_t room(const Worker& worker) const;
  void pace(Worker& worker) const;
  void take_from_window(Task& task, TaskId id);
  void send_cancel(TaskId id, const Task& task);
  void wait_again(TaskId id, Task& task);
  void end(TaskId id);
  void fail(TaskId id, Error error);
  void fail_waiting(RequestId request, const Error& error);
  void lose_window(Worker& worker, const Error& reason, const Started& started);
  void lose(TaskId id, const Error& reason, bool may_be_the_cause);
  // A copy of the place: it often is the key that is erased.
  void lose_worker(Place place, const Error& reason, const Started& started = std::nullopt);
  TimePoint tell_reach_at(const Worker& worker) const;
  void attached(const Place& place, Worker& worker);
  void tell_reach();
  void fence();
  void plan_demand();
  void tell_demand();
  TimePoint repeat_demand_at() const;
  bool demand_is_urgent() const;

  Settings settings_;
  Nearness nearness_;
  std::unordered_map<TaskId, Task> tasks_;  // never iterated
  std::map<RequestId, RequestRecord> requests_;
  std::map<Resources, RequestId> request_ids_;
  std::map<Place, Worker> workers_;
  std::map<LeaseId, Lease> leases_;
  std::uint64_t next_sequence_ = 0, late_results_ = 0;

  std::vector<Request> sent_demand_;           // what the daemon was told last
  TimePoint sent_demand_at_{};
  TimePoint demand_due_ = TimePoint::max();
  bool demand_changed_ = false;  // in the event under way
  bool session_open_ = false, closed_ = false;

  std::vector<Action> actions_;  // of the event under way
  TimePoint now_{};
};

}  // namespace pounce::task
