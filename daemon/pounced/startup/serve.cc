// `pounced serve`: the daemon's life from start lock to end.

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include "base/log.h"
#include "base/unique_fd.h"
#include "pounce/version.h"
#include "pounced/daemon.h"
#include "pounced/startup/backend.h"
#include "pounced/startup/commands.h"
#include "pounced/startup/instance.h"
#include "pounced/startup/spawn.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/expired_states.h"
#include "protocol/codec.h"
#include "transport/event_loop.h"

namespace pounce::daemon {

// TERM and INT as a readable descriptor. By handlers, not by a blocked mask with signalfd: handlers are undone by exec,
// a mask is inherited by every worker that this process starts. One per process. Thread: main.
class Signals {
 public:
  Signals();  // throws std::runtime_error
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return bell_.get(); }

 private:
  UniqueFd bell_;
};

namespace {

std::atomic<int> bell_number = -1;  // the handler's only way to know it

void ring(int) {
  const int saved = errno;
  ::eventfd_write(bell_number, 1);
  errno = saved;
}

void pass_over(int) {}  // a handler that does nothing, since SIG_IGN would be inherited by workers

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (::sigaction(signal_number, &action, nullptr) != 0) throw std::runtime_error("cannot handle a signal");
}

}  // namespace

Signals::Signals() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) throw std::runtime_error("no descriptor for signals");
  bell_number = bell_.get();
  handle(SIGTERM, ring);
  handle(SIGINT, ring);
  handle(SIGPIPE, pass_over);
  handle(SIGXFSZ, pass_over);  // a write beyond `ulimit -f` is an error of the write
  handle(SIGHUP, pass_over);   // the terminal of a `serve` by hand may go
}

Signals::~Signals() {
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  bell_number = -1;
}

namespace {

constexpr std::chrono::seconds kLookAtFiles{5};  // one small file each time
constexpr std::chrono::hours kShowLife{1};       // instance.cc relies on it
constexpr std::chrono::milliseconds kBetweenFolders{50};
constexpr std::chrono::hours kBetweenLooks{1};
constexpr rlim_t kDescriptors = 65536;  // each peer is one (gotchas Z3)

// Keys live in this process's memory: no core dump, no debugger of the same user.
void harden() {
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min(files.rlim_max, kDescriptors);
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// libzmq numbers its connection names from rand(), which it never seeds: the first are the same in every process, and
// a peer that takes the next one as its own name ends this process (gotchas Z14).
void make_names_unguessable() { std::srand(std::random_device{}()); }

// Runs the loop until the launcher has answered; nullopt: a signal came first.
std::optional<Result<ClusterFacts>> wait_for_facts(transport::EventLoop& loop, launch::Launcher& launcher) {
  std::optional<Result<ClusterFacts>> answer;
  launcher.ask(slurm::AskFacts{}, [&](Result<ClusterFacts> facts) {
    answer = std::move(facts);
    loop.stop();
  });
  if (!answer) loop.run();
  return answer;
}

// If our folder and its lock are removed, another daemon may start and our leases become its leases, so this one
// ends. The next client that needs a daemon starts it, and it finds the leases by their tags.
void look_after_files(transport::EventLoop& loop, const Setup& setup, const StartLock& lock, Daemon& daemon) {
  loop.at(Clock::now() + kLookAtFiles, [&loop, &setup, &lock, &daemon] {
    if (lock.held(setup.folders.lock())) {
      daemon.look_after();
      return look_after_files(loop, setup, lock, daemon);
    }
    spdlog::error("{} is gone or another's: ending; leases stay", setup.folders.lock());
    loop.stop();
  });
}

void show_life(transport::EventLoop& loop, const Setup& setup, const StartLock& lock) {
  loop.at(Clock::now() + kShowLife, [&loop, &setup, &lock] {
    lock.show_life(setup.folders.lock());
    show_life(loop, setup, lock);
  });
}

// Removes one folder at a time, so that peers of this daemon need not wait.
void tidy(transport::EventLoop& loop, const std::shared_ptr<GoneFolders>& gone) {
  loop.at(Clock::now() + kBetweenFolders, [&loop, gone] {
    if (gone->step()) tidy(loop, gone);
  });
}

void remove_expired(transport::EventLoop& loop, const std::shared_ptr<ExpiredStates>& states,
                    std::chrono::milliseconds wait) {
  loop.at(Clock::now() + wait,
          [&loop, states] { remove_expired(loop, states, states->step() ? kBetweenFolders : kBetweenLooks); });
}

Result<void> live(const Setup& setup, const StartLock& lock, StartReport& report) {
  Signals signals;
  transport::EventLoop loop;
  loop.watch_fd(signals.fd(), [&] {
    spdlog::info("told to end; leases stay");
    loop.stop();
  });
  const auto launcher = make_backend(loop, setup);
  auto facts = wait_for_facts(loop, *launcher);
  if (!facts) return failure(ErrorCode::kDaemonUnavailable, "pounced was told to end while it started");
  if (!*facts) {  // Slurm would give the next starter the same answer
    leave_start_failure(setup.folders, this_process(), protocol::encode_error(facts->error()));
    return failure(facts->error());
  }
  auto daemon = Daemon::open(loop, setup, std::move(**facts), *launcher);
  if (!daemon) return failure(daemon.error());
  if (const auto started = (*daemon)->start(); !started) return started;
  spdlog::info("pounced {} serves instance={} pid={}", kVersion, setup.instance.hex(), ::getpid());
  report.ready();
  look_after_files(loop, setup, lock, **daemon);
  show_life(loop, setup, lock);
  tidy(loop, std::make_shared<GoneFolders>(setup.folders, setup.scope));
  const auto keep = [&daemon] {
    return std::chrono::duration_cast<std::chrono::seconds>((*daemon)->times().parked_keep);
  };
  remove_expired(loop,
                 std::make_shared<ExpiredStates>(setup.folders.saved_states(), keep, [] { return std::time(nullptr); }),
                 kBetweenFolders);
  loop.run();
  return {};
}

int fail(StartReport& report, const Error& error) {
  spdlog::error("{} {}", error.text, error.advice());
  report.failed(error);
  return 1;
}

int serve_here(const CommandLine& command, bool detached, StartReport& report) {
  const auto setup = set_up(command);
  if (!setup) {
    start_log("pounced", "");
    return fail(report, setup.error());
  }
  const auto made = make_folders(setup->folders);
  start_log("pounced", detached && made ? setup->folders.log() : "");
  if (!made) return fail(report, made.error());
  const auto lock = StartLock::take(setup->folders.lock());
  if (!lock) return fail(report, lock.error());
  if (!*lock) {
    spdlog::info("another pounced serves this instance");
    report.another_runs();
    return 0;
  }
  harden();
  make_names_unguessable();
  const auto lived = live(*setup, **lock, report);
  if (!lived) return fail(report, lived.error());
  spdlog::info("ended");
  return 0;
}

}  // namespace

int serve(const CommandLine& command, bool detached) {
  StartReport report;
  if (detached && ::fcntl(StartReport::kDescriptor, F_SETFD, FD_CLOEXEC) == 0)
    report = StartReport(UniqueFd(StartReport::kDescriptor));
  try {
    return serve_here(command, detached, report);
  } catch (const std::exception& error) {
    return fail(report, {ErrorCode::kDaemonUnavailable, error.what(), {}, {}});
  }
}

}  // namespace pounce::daemon
