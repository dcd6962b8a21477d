// The worker's machine: which task is queued, running or done, in whose name, and what becomes of repeated messages.
// One task runs at a time, in order of arrival. Outcomes are kept until their session acknowledges them. A session sees
// and touches only its own tasks. Pure: no I/O, no clock, no thread. Thread: the owner's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/task.h"

namespace pounce::exec {

// What can happen to a worker's tasks. The engine (src/worker/interpreter) makes these from messages and from what the
// main thread does. Values. Thread: any.

// What a task brought, by a handle of the engine's. The core keeps it while the task waits and gives it back with
// StartTask. It never looks into it.
using PayloadHandle = std::shared_ptr<void>;

struct TaskArrived {
  SessionId session;
  TaskId task;
  std::uint32_t attempt = 0;
  bool inputs_here = true;  // its function and all its objects are whole on this worker
  PayloadHandle payload{};
};
struct RunnerReady {};  // the main thread waits for work
struct RunnerAway {};   // it does something of its own now: what arrives is queued
struct RunEnded {       // the function returned, raised or was interrupted; the engine keeps its outcome
  TaskId task;
};
struct OutcomesAcknowledged {
  SessionId session;
  std::vector<TaskId> tasks;
};
struct StatesRequested {
  SessionId session;
  std::vector<TaskId> tasks;
  bool no_others = false;  // the session counts on no other task here: they are given up
};
struct CancelRequested {
  SessionId session;
  TaskId task;
  Duration grace{};  // from its interrupt until the interpreter is given up
  bool only_if_queued = false;
};
struct SessionDismissed {
  SessionId session;
};
struct TimePassed {};  // at next_deadline(), or at any time

using Event = std::variant<TaskArrived, RunnerReady, RunnerAway, RunEnded, OutcomesAcknowledged, StatesRequested,
                           CancelRequested, SessionDismissed, TimePassed>;

// What the worker's engine must do after an event. Each is idempotent or happens once per task and attempt. Values.
// Thread: any.
enum class Failure : std::uint8_t { kCancelled, kInputsMissing };

struct StartTask {  // give it to the main thread
  SessionId session;
  TaskId task;
  PayloadHandle payload;
};
struct TellStarted {  // a repeated task that runs already: its sender may have missed Started
  SessionId session;
  TaskId task;
};
struct InterruptTask {  // SIGINT to the main thread; it runs this task now
  TaskId task;
};
struct GiveUp {  // it did not stop within its grace: only the end of the interpreter ends it
  TaskId task;
};
struct FailTask {  // it will never run: make its outcome, keep it, send it
  SessionId session;
  TaskId task;
  Failure why = Failure::kCancelled;
};
struct SendOutcome {  // the kept one, for the first time or again
  SessionId session;
  TaskId task;
};
struct AnswerStates {
  SessionId session;
  std::vector<TaskId> tasks;
  std::vector<RemoteTaskState> states;
};
struct ForgetTask {  // its outcome is no longer needed
  TaskId task;
};
struct TellActivity {  // queued and running tasks, after a change
  std::uint32_t running = 0;
};

using Action = std::variant<StartTask, TellStarted, InterruptTask, GiveUp, FailTask, SendOutcome, AnswerStates,
                            ForgetTask, TellActivity>;

class ExecCore {
 public:
  // How many ids are remembered of tasks that were acknowledged, or begun and then dismissed with their session, so
  // that none runs again.
  static constexpr std::size_t kRemembered = 4096;
  // For the running task of a client that is gone; a present client states its own grace.
  static constexpr Duration kGrace = std::chrono::seconds(5);

  std::vector<Action> handle(const Event& event, TimePoint now);

  RemoteTaskState state_of(const TaskId& task) const;
  std::optional<TaskId> running() const { return running_; }
  // Whether a cancel came for a task: then its KeyboardInterrupt is ours, not its own.
  bool cancel_asked(const TaskId& task) const;
  // When TimePassed should come; TimePoint::max() = never.
  TimePoint next_deadline() const;
  std::uint32_t unfinished() const { return static_cast<std::uint32_t>(queue_.size()) + (running_ ? 1 : 0); }
  std::size_t waiting() const { return queue_.size(); }
  // An outcome that this session has not acknowledged: it may be on its way.
  bool owes(const SessionId& session) const;
  std::uint64_t ignored() const { return ignored_; }  // late, foreign or repeated news: normal, counted

  // Empty when all is well, else what is broken. Called after each event in tests and debug builds.
  const char* broken_invariant() const;

 private:
  struct Record {
    SessionId session;
    RemoteTaskState state = RemoteTaskState::kQueued;
    std::uint32_t attempt = 0;
    bool ran = false;  // it was started
    bool cancel_asked = false;
    TimePoint stop_by = TimePoint::max();  // cancelled while it ran
    PayloadHandle payload{};               // until it starts
  };
  struct Memory {
    SessionId session;
    std::uint32_t attempt = 0;  // its last
  };
  using Actions = std::vector<Action>;

  void on(const TaskArrived& event, Actions& actions);
  void on(const RunnerReady& event, Actions& actions);
  void on(const RunnerAway& event, Actions& actions);
  void on(const RunEnded& event, Actions& actions);
  void on(const OutcomesAcknowledged& event, Actions& actions);
  void on(const StatesRequested& event, Actions& actions);
  void on(const CancelRequested& event, Actions& actions);
  void on(const SessionDismissed& event, Actions& actions);
  void on(const TimePassed& event, Actions& actions);

  void repeated(const TaskArrived& event, const Record& known, Actions& actions);
  bool ran_before(const TaskArrived& event) const;
  void accept(const TaskArrived& event, Actions& actions);
  void interrupt(const TaskId& task, Record& record, Duration grace, Actions& actions);
  void give_up(const SessionId& session, const std::vector<TaskId>& but, Actions& actions);
  void interrupt_orphan(const TaskId& task, Record record, Actions& actions);
  void start_next(Actions& actions);
  void remove_from_queue(const TaskId& task);
  void remember(const TaskId& task, const Record& record);
  RemoteTaskState state_for(const SessionId& session, const TaskId& task);
  Record* own(const SessionId& session, const TaskId& task);
  const Record& running_record() const { return orphan_ ? *orphan_ : tasks_.at(*running_); }

  std::map<TaskId, Record> tasks_;  // ordered, so that given-up tasks are reported by id
  std::deque<TaskId> queue_;
  std::optional<TaskId> running_;
  std::optional<Record> orphan_;  // of the running task after its session was dismissed: its outcome is dropped
  bool runner_ready_ = false;
  std::unordered_map<TaskId, Memory> remembered_;
  std::deque<TaskId> remembered_order_;
  std::uint64_t ignored_ = 0;
  TimePoint now_{};
};

}  // namespace pounce::exec
