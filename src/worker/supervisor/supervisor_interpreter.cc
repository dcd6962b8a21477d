// The start, life and death of a supervisor's interpreters.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/process.h"
#include "base/text.h"
#include "messages/sentence.h"
#include "worker/supervisor/interpreter.h"
#include "worker/supervisor/process_tree.h"
#include "worker/supervisor/supervisor.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr int kEarlyDeaths = 3;   // in a row: the interpreter cannot start here at all
constexpr auto kOwnTerm = 300ms;  // Slurm's TERM reaches the interpreter and us in any order
constexpr int kHelperTries = 50;
constexpr std::chrono::microseconds kHelperPause = 2ms;  // a killed process needs a moment
constexpr std::size_t kTailBytes = 16 * 1024;
constexpr int kCannotRun = W_EXITCODE(127, 0);  // as a shell reports it
constexpr char kKilledFirst[] = "300";          // oom_score_adj: the kernel must kill the interpreter before us

}  // namespace

void Supervisor::start_interpreter() {
  memory_kills_ = memory_.kills().value_or(0);
  ready_ = false;
  running_ = 0;
  meter_.set_busy(false, Clock::now());
  gpu_meter_.set_busy(false);
  note_task();
  unannounced_.reset();
  up_ = {};
  auto started = Interpreter::start(plan_);
  if (!started) return on_no_interpreter(started.error());
  interpreter_ = std::move(*started);
  spdlog::info("lease={} epoch={} interpreter pid={} '{}'", options_.lease.hex(), epoch_.value, interpreter_->pid(),
               joined(plan_.command, " "));
  watch_interpreter();
  for (const auto& [session, admit] : admitted_) interpreter_->socket().send(admit);
  if (walltime_.end_time_s > 0) interpreter_->socket().send(walltime_);
}

// The next try would fail in the same way, so the death is reported and the worker ends.
void Supervisor::on_no_interpreter(const Error& why) {
  spdlog::error("lease={} {}", options_.lease.hex(), why.text);
  Death death{};
  death.wait_status = kCannotRun;
  death.was_ready = false;
  death.node = facts_.node;
  death.command = joined(plan_.command, " ");
  death.last_lines = why.text;
  untold_.push_back({options_.lease, options_.worker, epoch_, death_report(death), false, {}});
  tell_deaths();
  end(why.text);
}

void Supervisor::watch_interpreter() {
  interpreter_watch_ = loop_.watch_fd(interpreter_->socket().fd(), [this] { on_interpreter_message(); });
}

void Supervisor::on_interpreter_message() {
  RecordSocket& socket = interpreter_->socket();
  socket.flush();
  socket.fill();
  while (const auto header = socket.next()) {
    std::visit(Overloaded{[&](const protocol::Ready& ready) { on_ready(ready); },
                          [&](const protocol::Activity& activity) { on_activity(activity); },
                          [&](const protocol::DetachedEnded& ended) {
                            daemon_->send(protocol::DetachedEnded{options_.lease, options_.worker, epoch_, ended.task,
                                                                  ended.ok, ended.digest, ended.error});
                          },
                          [](const auto&) {}},  // an interpreter says nothing else
               *header);
  }
  if (!socket.open()) loop_.unwatch(interpreter_watch_);  // SIGCHLD follows
}

void Supervisor::on_ready(const protocol::Ready& ready) {
  early_deaths_ = 0;
  up_ = {options_.lease, options_.worker, epoch_, ready.endpoint, ready.key};
  std::ofstream("/proc/" + std::to_string(interpreter_->pid()) + "/oom_score_adj") << kKilledFirst;
  spdlog::info("lease={} epoch={} ready at {}", options_.lease.hex(), epoch_.value, ready.endpoint);
  announce_if_leased();
}

void Supervisor::announce() {
  unannounced_.reset();
  ready_ = true;
  daemon_->send(up_);
}

void Supervisor::on_activity(const protocol::Activity& activity) {
  const bool was_busy = std::exchange(running_, activity.running) > 0;
  const bool other_state = std::exchange(state_, activity.state) != activity.state;
  const bool held_now = activity.held && !std::exchange(held_, held_ || activity.held);
  const bool other_module = std::exchange(loading_, activity.loading) != activity.loading;
  reported_ = activity.reported;                                         // the next beat has it
  const bool works = running_ > 0 && state_ != NamespaceState::kSaving;  // saving does not use the GPU
  watchdog_.set_busy(running_ > 0, state_ == NamespaceState::kKept);
  meter_.set_busy(works, Clock::now());
  gpu_meter_.set_busy(works);
  note_task();
  if (activity.stays && std::exchange(leaving_, std::nullopt)) tell_running();
  const bool free_now = was_busy && running_ == 0;
  // The finished work counts even if the lease ends before the next beat.
  if (free_now) meter_.look(::getpid(), Clock::now());
  if (free_now) tell_gpus();  // the task's use of them
  if (free_now || other_state || other_module || held_now) tell_running();
  if (activity.client_seen_ms_ago >= 0)
    watchdog_.seen(Clock::now() - std::chrono::milliseconds(activity.client_seen_ms_ago));
}

// Reaps orphans too: this process is their reaper.
void Supervisor::reap() {
  while (const auto gone = ended_child(kAnyChild)) {
    if (!interpreter_ || gone->pid != interpreter_->pid()) continue;
    const int status = gone->wait_status;
    const bool by_term = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    loop_.unwatch(interpreter_watch_);
    if (by_term && !ending_)
      loop_.at(Clock::now() + kOwnTerm, [this, status] { on_interpreter_death(status); });
    else
      on_interpreter_death(status);
  }
  stop_if_alone();
}

void Supervisor::on_interpreter_death(int wait_status) {
  const std::string words = unlogged_words() + interpreter_->last_words();
  static_cast<void>(!::write(STDOUT_FILENO, words.data(), words.size()));
  if (leaving_ && !interpreter_->page().running())
    report_departure();
  else if (!ending_)
    report_death(wait_status, words);
  interpreter_.reset();
  state_ = NamespaceState::kSaved;
  loading_.clear();
  reported_ = {};
  watchdog_.set_busy(false);
  if (leaving_) end(messages::sentence(*leaving_));
  if (ending_) return stop_if_alone();
  end_helpers();
  ++epoch_.value;
  start_interpreter();
}

// Ends processes that the dead interpreter left, since they may hold GPU memory and ports that the next one needs.
void Supervisor::end_helpers() {
  for (int tries = 0; tries < kHelperTries && signal_descendants(::getpid(), SIGKILL) > 0; ++tries)
    ::usleep(kHelperPause.count());
  reap();
}

// Only the page can tell which tasks were on their way and never started; those may run elsewhere.
void Supervisor::report_departure() {
  untold_.push_back({options_.lease,
                     options_.worker,
                     epoch_,
                     error_of(ErrorCode::kLeaseEnded, *leaving_),
                     false,
                     {up_.key, interpreter_->page().unacknowledged()}});
  tell_deaths();
}

void Supervisor::report_death(int wait_status, const std::string& words) {
  const bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  const bool gave_up = killed && interpreter_->page().gave_up();
  const bool for_memory = killed && !gave_up && memory_.kills().value_or(0) > memory_kills_;
  Death death{wait_status,
              facts_.node,
              for_memory,
              {},
              gave_up,
              ready_,
              joined(plan_.command, " "),
              tail_of(log_reader_ ? log_tail() : words),
              interpreter_->page().running(),
              unfit_};
  if (death.killed_for_memory) death.memory_limit = memory_.limit();
  const Error error = death_report(death);
  const std::string why = messages::text(error);
  if (!ready_) ++early_deaths_;
  const bool restarting = early_deaths_ < kEarlyDeaths && !unfit_;
  spdlog::warn("lease={} epoch={} {}", options_.lease.hex(), epoch_.value, why);
  untold_.push_back({options_.lease,
                     options_.worker,
                     epoch_,
                     error,
                     restarting,
                     {up_.key, interpreter_->page().unacknowledged(), failed_gpu_}});
  tell_deaths();
  if (!restarting) end(why);
}

// Output that was read from the pipe when its reader died: before the reader had appended it to the log, or just
// after.
std::string Supervisor::unlogged_words() const {
  const std::string_view words = interpreter_->page().unlogged();
  const std::string tail = log_reader_ ? log_tail() : std::string();
  const bool logged = words.size() <= tail.size() ? tail.ends_with(words) : !tail.empty() && words.ends_with(tail);
  return logged ? std::string() : std::string(words);
}

std::string Supervisor::log_tail() const {
  struct stat info{};
  if (::fstat(log_reader_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(std::min<std::size_t>(kTailBytes, static_cast<std::size_t>(info.st_size)), '\0');
  const ssize_t got =
      ::pread(log_reader_.get(), text.data(), text.size(), info.st_size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace pounce::worker
