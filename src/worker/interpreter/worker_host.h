// The interface to the Python binding: the engine under its leader token. The main thread leads while it waits for
// work, so that a task goes from the socket to Python without a hand-over between threads. The stand-by thread pumps
// while Python is busy. A forked child (a DataLoader's worker) uses nothing of it: the parent owns sockets and
// threads. Thread: main, except where noted.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "pounce/error.h"
#include "transport/leader_token.h"
#include "worker/interpreter/worker_engine.h"

namespace pounce::worker {

class WorkerHost {
 public:
  // Sets setup.interrupt. Call it on the main thread, which is the thread that a cancel interrupts.
  static Result<std::unique_ptr<WorkerHost>> start(EngineSetup setup);
  ~WorkerHost();

  // Blocks until there is a job (returned), `pause` returns true, `until` has come, or the worker ends (nullopt; see
  // ending()). When `until` has come the runner is no longer ready: no task starts before the next call.
  std::optional<Job> next(const std::function<bool()>& pause, TimePoint until);
  // What act(engine) returns. It runs alone with the engine. Any thread. In a forked child it does not run, and this
  // returns a value of the answer's type.
  template <class Act>
  auto with_engine(Act act);
  // Blocks until the client sends a message to the running task; nullopt: interrupted, or the worker ends.
  std::optional<std::vector<std::string>> input(const std::function<bool()>& interrupted);
  // The same at the worker's end, for an answer to what was shown. nullopt also if no client is attached or `until`
  // has come.
  std::optional<std::vector<std::string>> answer(TimePoint until, const std::function<bool()>& interrupted);
  bool over();  // main thread, between two tasks: as ending(); once true, no task begins and no SIGINT comes
  bool wanted() const { return engine_->tasks().wanted(); }  // any thread, at once: a task waits, or the worker ends
  bool ending() const { return engine_->tasks().ending(); }  // likewise: the worker ends
  // Likewise: a client waits, and the running loop can be left.
  bool yield_asked() const { return engine_->supervisor().yield_asked(); }
  bool preempted() const { return engine_->supervisor().preempted(); }                    // likewise
  int limit_reached() const { return engine_->tasks().limit_reached(); }                  // likewise
  const std::shared_ptr<device::Devices>& devices() const { return engine_->devices(); }  // any thread: constant
  const std::string& endpoint() const { return engine_->endpoint(); }             // any thread: it does not change
  std::int64_t end_time_s() const { return engine_->supervisor().end_time_s(); }  // any thread
  Looks& looks() { return engine_->looks(); }                                     // any thread: next, close and closed
  bool modules_asked() const { return engine_->attach_handler().modules_asked(); }  // any thread
  // Main thread, between two tasks: the runner is no longer ready; returns a job that has just come.
  std::optional<Job> away();
  static unsigned interrupts_sent();  // any thread: to the main thread, so far
  void abandon_after_fork();          // any thread of the child
  bool forked() const { return forked_; }

 private:
  explicit WorkerHost(std::unique_ptr<WorkerEngine> engine);
  std::optional<Job> taken_or_away();

  std::unique_ptr<WorkerEngine> engine_;
  std::optional<transport::LeaderToken> leader_token_;
  bool ending_ = false;
  std::atomic<bool> forked_ = false;
};

template <class Act>
auto WorkerHost::with_engine(Act act) {
  using Answer = std::invoke_result_t<Act, WorkerEngine&>;
  if constexpr (std::is_void_v<Answer>) {
    leader_token_->hold([&] { act(*engine_); });
  } else {
    Answer answer{};
    leader_token_->hold([&] { answer = act(*engine_); });
    return answer;
  }
}

}  // namespace pounce::worker
