// The client's task machine: which task waits, which went where, what is requested from the daemon, and how each task
// ends. Pure: no I/O, no clock, no thread. docs/states.md has its table. What it decides stands in the sources of
// rules.h. Thread: the leader token's holder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "core/task/actions.h"
#include "core/task/events.h"

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
enum class TaskState : std::uint8_t {
  kWaiting,  // it never started: it may go anywhere
  kSent,     // in a worker's window; it may have started
  kRunning   // the worker said so
};

struct Core;

class Machine {
 public:
  // How many bytes of a task's data that worker has already. It decides between equally free workers.
  using Nearness = std::function<std::uint64_t(const WorkerRef&, const TaskId&)>;

  explicit Machine(Settings settings = {}, Nearness nearness = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

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
  std::uint64_t late_results() const;
  std::vector<Request> demand() const;

  void check_invariants() const;  // POUNCE_CHECKs; for tests and debug builds

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace pounce::task
