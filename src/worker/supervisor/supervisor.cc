#include "worker/supervisor/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/overloaded.h"
#include "messages/sentence.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto kOrderlyEnd = 3s;    // for the task's KeyboardInterrupt handlers and the interpreter's atexit
constexpr auto kAfterTerm = 2s;     // kOrderlyEnd and kAfterTerm together are well under Slurm's KillWait
constexpr auto kAfterKill = 200ms;  // between further SIGKILLs, for processes that were forked meanwhile

// A requeued job is another run of the same lease. Its epochs continue above those of the run before; else a client
// that did not hear of the requeue would take the new interpreter for the dead one that it knows.
constexpr std::uint32_t kEpochsOfOneRun = 1'000'000;

void pass_over(int) {}

UniqueFd open_signals() {
  // libmunge writes to a munged that may have hung up, and we write to files that `ulimit -f` may limit. This is a
  // handler because the interpreter would inherit SIG_IGN.
  struct sigaction action{};
  action.sa_handler = pass_over;
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaction(signal, &action, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::vector<std::string> interpreter_command(const SupervisorOptions& options) {
  std::vector<std::string> command = options.interpreter;
  command.insert(command.end(), {"-m", "pounce._worker"});
  return command;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, Environment environment, std::string host_name, rlimit core_limit)
    : options_(std::move(options)),
      facts_(job_facts(environment, options_.stand_in, host_name)),
      report_pipe_(value_of(environment, "TMPDIR")),
      plan_{interpreter_command(options_),
            for_user_code(environment),
            host_of(options_.handshake),
            facts_.node,
            facts_.devices,
            STDOUT_FILENO,
            options_.interface,
            options_.ports,
            core_limit,
            folder_of(options_.endpoint_file),
            options_.lease.hex(),
            options_.workers,
            report_pipe_.path(),
            report_pipe_.fd()},
      memory_(memory::MemoryEvents::of_this_process()),
      log_reader_(::open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
      epoch_{facts_.restart * kEpochsOfOneRun + options_.first_epoch.value},
      walltime_{options_.lease, facts_.end_time_s},
      signals_(open_signals()),
      watchdog_(options_.watchdog_idle, options_.watchdog_busy, Clock::now()),
      meter_(Clock::now()),
      gpu_meter_(facts_.visible_gpus) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (options_.unfit)
    end_unfit(*options_.unfit);
  else
    start_interpreter();
  // From here on there are keys in memory, so core files and debuggers are off. It cannot be earlier: /proc/self
  // closes with it.
  ::prctl(PR_SET_DUMPABLE, 0);
  loop_.watch_fd(signals_.get(), [this] { on_signal(); });
  watch_gpus();
  daemon_ = std::make_unique<DaemonLink>(
      loop_, options_,
      DaemonLink::Callbacks{[this] { on_connected(); }, [this](const auto& header) { on_daemon_message(header); }});
}

Supervisor::~Supervisor() = default;

SupervisorEnd Supervisor::run() {
  spdlog::info("lease={} worker={} job={} restart={} node={} devices='{}' serving", options_.lease.hex(),
               options_.worker.value, facts_.job, facts_.restart, facts_.node, facts_.devices);
  daemon_->open();
  beat();
  check_watchdog();
  loop_.run();
  spdlog::info("lease={} worker={} over", options_.lease.hex(), options_.worker.value);
  return leaving_ ? SupervisorEnd::kLeftIdle : SupervisorEnd::kOver;
}

void Supervisor::on_connected() {
  spdlog::info("lease={} connected to pounced", options_.lease.hex());
  protocol::WorkerUp up{options_.lease, options_.worker, facts_.job,   facts_.restart, facts_.node, facts_.devices, 0,
                        ready_,         epoch_,          up_.endpoint, up_.key};
  up.pid = static_cast<std::uint32_t>(::getpid());
  for (const auto& [session, admit] : admitted_) up.clients.push_back(session);
  daemon_->send(up);
  // Its answer is the first message that the watchdog counts: an open channel alone does not prove that pounced
  // lives.
  daemon_->send(protocol::Beat{false, Clock::now().time_since_epoch().count(), 0});
  told_gpus_ = {};
  tell_gpus();
  tell_deaths();
}

// Sends the deaths again on each connection until a beat sent behind them is answered. A death may come before the
// line is open, or be the last message.
void Supervisor::tell_deaths() {
  // No line exists yet if the first interpreter could not start.
  if (untold_.empty() || !daemon_ || !daemon_->connected()) return;
  for (const auto& down : untold_) daemon_->send(down);
  ask_for_answer();
}

// Makes pounced ask the batch system at once why the job ends. Otherwise it would only notice the silence.
void Supervisor::say_farewell() {
  if (!daemon_ || !daemon_->connected()) return;  // no line exists yet if the first interpreter could not start
  farewell_under_way_ = true;
  tell_running();
  ask_for_answer();
}

// Sends a beat. Its answer says that everything sent before it has arrived.
void Supervisor::ask_for_answer() {
  told_ns_ = Clock::now().time_since_epoch().count();
  daemon_->send(protocol::Beat{false, told_ns_, 0});
}

void Supervisor::on_daemon_message(const protocol::Header& header) {
  watchdog_.seen(Clock::now());
  const auto pass_on = [&](const auto& message) {
    if (interpreter_) interpreter_->socket().send(message);
  };
  std::visit(
      Overloaded{
          [&](const protocol::Beat& beat) {
            if (beat.answer && beat.sent_ns == told_ns_) {
              untold_.clear();
              farewell_under_way_ = false;
            }
            stop_if_alone();
          },
          [&](const protocol::Admit& admit) {
            admitted_[admit.session] = admit;
            pass_on(admit);
          },
          [&](const protocol::Dismiss& dismiss) {
            admitted_.erase(dismiss.session);
            pass_on(dismiss);
          },
          [&](const protocol::Walltime& walltime) {
            walltime_ = walltime;
            pass_on(walltime);
          },
          [&](const protocol::YieldSteps& yield) { pass_on(yield); },
          [&](const protocol::RunDetached& run) {
            if (run.epoch == epoch_) pass_on(run);  // of another epoch: pounced is told of the death
          },
          [&](const protocol::EndWorker& over) {
            over.only_if_idle ? end_if_idle(over.cause) : end(messages::sentence(over.cause));
          },
          [&](const protocol::Refused& refused) {
            spdlog::warn("lease={} pounced refused a message: {}", options_.lease.hex(), refused.error.text);
          },
          [&](const auto&) { spdlog::debug("lease={} a message that is not for a supervisor", options_.lease.hex()); }},
      header);
}

void Supervisor::beat() {
  const auto now = Clock::now();
  meter_.look(::getpid(), now);
  tell_running();
  tell_gpus();
  loop_.at(daemon_->next_beat(now), [this] { beat(); });  // with the line's own beat: one wake-up of pounced for both
}

void Supervisor::tell_running() {
  const Used used = meter_.used(Clock::now());
  const device::GpuUse gpu = gpu_meter_.used();
  const model::JobFigures job{used.busy.count(), used.idle.count(), used.cpu.count(),     used.memory_mib,
                              gpu.percent,       gpu.memory_mib,    gpu.memory_total_mib, held_};
  const device::GpuUse gpu_now = gpu_meter_.now();
  const model::UseNow now{used.cpu_percent, used.memory_now_mib, gpu_now.percent, gpu_now.memory_mib};
  const std::uint32_t running = leaving_ ? 0 : running_;  // the count may be from before its answer
  daemon_->send(protocol::WorkerBeat{options_.lease, options_.worker, running, ending_, job, warnings_, state_,
                                     loading_, reported_, now});
}

void Supervisor::check_watchdog() {
  const TimePoint now = Clock::now();
  if (now >= watchdog_.deadline()) return end("neither pounced nor any client was heard");
  note_task();
  // Checks before the deadline too, because a task that ends brings the deadline closer.
  loop_.at(std::min(watchdog_.deadline(), now + 1s), [this] { check_watchdog(); });
}

void Supervisor::on_signal() {
  signalfd_siginfo info;
  bool child = false;
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      child = true;
    } else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP) {
      end("the batch system ends the job (signal " + std::to_string(info.ssi_signo) + ")");
    } else {
      // Slurm warns of the walltime or of a preemption. The signal is never passed on: libraries requeue jobs on it.
      spdlog::info("lease={} warned by the batch system (signal {})", options_.lease.hex(), info.ssi_signo);
      ++warnings_;
      tell_running();
    }
  }
  if (child) reap();
}

void Supervisor::end(const std::string& why) {
  if (ending_) return;
  ending_ = true;
  spdlog::info("lease={} ending: {}", options_.lease.hex(), why);
  if (interpreter_) interpreter_->socket().send(protocol::EndWorker{options_.lease});
  say_farewell();
  orderly_until_ = Clock::now() + kOrderlyEnd;
  leave_by_ = Clock::now() + std::max<Duration>(options_.leave, kOrderlyEnd);
  wait_for_orderly_end();
  stop_if_alone();
}

// An interpreter that saves its variables gets the longer time, and then the usual time for its atexit.
void Supervisor::wait_for_orderly_end() {
  const TimePoint now = Clock::now();
  if (state_ == NamespaceState::kSaving) orderly_until_ = std::min<TimePoint>(now + kOrderlyEnd, leave_by_);
  if (now >= orderly_until_) return press_on();
  loop_.at(std::min<TimePoint>(orderly_until_, now + 1s), [this] { wait_for_orderly_end(); });
}

// Only the interpreter knows which tasks have arrived. It leaves, or it reports a task, which the supervisor passes
// on to pounced (on_activity).
void Supervisor::end_if_idle(const Cause& why) {
  if (ending_ || leaving_) return;
  leaving_ = why;
  if (!interpreter_ || !ready_) return end(messages::sentence(why));
  interpreter_->socket().send(protocol::EndWorker{options_.lease, {}, true});
  loop_.at(Clock::now() + kOrderlyEnd, [this] {
    if (leaving_) end(messages::sentence(*leaving_));
  });
}

void Supervisor::press_on() {
  const int signal = end_steps_++ == 0 ? SIGTERM : SIGKILL;
  signal_descendants(::getpid(), signal);
  loop_.at(Clock::now() + (signal == SIGTERM ? std::chrono::milliseconds(kAfterTerm) : kAfterKill),
           [this] { press_on(); });
  stop_if_alone();
}

void Supervisor::stop_if_alone() {
  if (!ending_ || interpreter_ || !descendants_of(::getpid()).empty()) return;
  const bool all_told = untold_.empty() && !farewell_under_way_;
  if (all_told || end_steps_ > 0) loop_.stop();
}

}  // namespace pounce::worker
