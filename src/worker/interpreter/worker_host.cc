#include "worker/interpreter/worker_host.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/threads.h"
#include "memory/cgroup.h"

namespace pounce::worker {

// SIGTERM of an interpreter. The batch system sends it to every process of a job that it ends. The supervisor gets it
// too, and ends the interpreter in order, with time to save. Thread: main.

// From here on SIGTERM ends this process only if its supervisor or the process itself sent it. It ends forked
// children whatever its sender. User code may replace the handler (signal.signal); an executed program has the
// default.
void leave_termination_to_supervisor();

namespace {

// Written before the handler is installed. A supervisor that dies takes this process along (PR_SET_PDEATHSIG), so no
// other process has its number.
pid_t interpreter = 0, supervisor = 0;

// Async-signal-safe. The raised signal is delivered with the default action as soon as this returns.
void on_termination(int signal, siginfo_t* info, void*) {
  const bool by_others = info->si_pid != interpreter && info->si_pid != supervisor;
  if (::getpid() == interpreter && by_others) return;
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);
}

}  // namespace

void leave_termination_to_supervisor() {
  interpreter = ::getpid();
  supervisor = ::getppid();
  struct sigaction action{};
  action.sa_sigaction = on_termination;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
}

namespace {

// SIGURG: no other part of the process uses it, and it is ignored where it is not handled. It only ends a system
// call.
constexpr int kNudge = SIGURG;
// Between tasks, for buffers that another thread has let go: each look costs three wake-ups. Signals end a turn.
constexpr std::chrono::milliseconds kIdleLook{1000};

std::atomic<unsigned> interrupts = 0;

void make_nudges_end_calls() {
  struct sigaction nothing{};  // without SA_RESTART
  nothing.sa_handler = [](int) {};
  ::sigaction(kNudge, &nothing, nullptr);
}

}  // namespace

Result<std::unique_ptr<WorkerHost>> WorkerHost::start(EngineSetup setup) {
  setup.keep_bytes = memory::memory_to_keep();
  make_nudges_end_calls();
  leave_termination_to_supervisor();
  setup.interrupt = [main_thread = ::pthread_self()] {
    ++interrupts;
    ::pthread_kill(main_thread, SIGINT);
  };
  setup.nudge = [main_thread = ::pthread_self()] { ::pthread_kill(main_thread, kNudge); };
  // The threads made here take no signals, which belong to the main thread, where Python handles them.
  const BlockedSignals blocked;
  auto engine = WorkerEngine::start(std::move(setup));
  if (!engine) return failure(std::move(engine.error()));
  return std::unique_ptr<WorkerHost>(new WorkerHost(std::move(*engine)));
}

unsigned WorkerHost::interrupts_sent() { return interrupts; }

WorkerHost::WorkerHost(std::unique_ptr<WorkerEngine> engine) : engine_(std::move(engine)) {
  leader_token_.emplace(*engine_, "pounce-standby");
}

WorkerHost::~WorkerHost() {
  if (forked_)
    static_cast<void>(engine_.release());  // the parent owns it: closing anything here would disturb the parent
  else
    leader_token_->hold([this] { engine_->output().forward_last(); });
}

std::optional<Job> WorkerHost::next(const std::function<bool()>& pause, TimePoint until) {
  bool announced = false;
  std::optional<Job> job;
  const auto done = [&] {
    if (!announced) engine_->tasks().runner_ready();
    announced = true;
    ending_ = engine_->tasks().runner_over();
    if (!ending_) job = engine_->tasks().take_job();
    return ending_ || job || pause();
  };
  const auto in_time = [&] { return !announced || Clock::now() < until; };
  while (!ending_ && !job && !pause() && !forked_ && in_time())
    leader_token_->pump_until(
        done, std::min(until, Clock::now() + std::chrono::hours(1)), [] { return false; }, kIdleLook);
  if (!job && !ending_ && Clock::now() >= until) leader_token_->hold([&] { job = taken_or_away(); });
  return job;
}

// A job that has just come has begun, and the main thread's own work waits.
std::optional<Job> WorkerHost::taken_or_away() {
  if (engine_->tasks().ending()) return std::nullopt;
  auto job = engine_->tasks().take_job();
  if (!job) engine_->tasks().runner_away();
  return job;
}

bool WorkerHost::over() {
  leader_token_->hold([&] { ending_ = engine_->tasks().runner_over(); });
  return ending_;
}

std::optional<std::vector<std::string>> WorkerHost::input(const std::function<bool()>& interrupted) {
  std::optional<std::vector<std::string>> message;
  bool over = forked_;
  const auto done = [&] {
    message = engine_->output().take_input();
    return message || engine_->tasks().ending();
  };
  while (!message && !over) {
    bool stop = false;
    const auto stopped = [&] { return stop = interrupted(); };
    const bool ended = leader_token_->pump_until(done, Clock::now() + std::chrono::hours(1), stopped);
    over = ended || stop;
  }
  return message;
}

std::optional<std::vector<std::string>> WorkerHost::answer(TimePoint until, const std::function<bool()>& interrupted) {
  std::optional<std::vector<std::string>> message;
  const auto done = [&] {
    message = engine_->output().take_input();
    return message || !engine_->output().is_seen();
  };
  if (!forked_) leader_token_->pump_until(done, until, interrupted);
  return message;
}

std::optional<Job> WorkerHost::away() {
  return with_engine([this](WorkerEngine&) { return taken_or_away(); });
}

void WorkerHost::abandon_after_fork() {
  forked_ = true;
  leader_token_->abandon_after_fork();
  engine_->abandon_after_fork();
}

}  // namespace pounce::worker
