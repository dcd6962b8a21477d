#include "launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace pounce::launch {
namespace {

constexpr int kReport = 3, kGate = 4;  // the child's ends

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// pounced takes some signals by descriptor and so blocks them; a blocked signal stays blocked across exec.
void forget_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void take_descriptors(int log, int report, int gate) {
  const int null = ::open("/dev/null", O_RDONLY);
  // Through high numbers: the ends may themselves have the numbers that they shall get.
  const int high_report = ::fcntl(report, F_DUPFD, 64), high_gate = ::fcntl(gate, F_DUPFD, 64);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::dup2(high_report, kReport);
  ::dup2(high_gate, kGate);
  ::close_range(kGate + 1, ~0u, 0);
  ::fcntl(kReport, F_SETFD, FD_CLOEXEC);
  ::fcntl(kGate, F_SETFD, FD_CLOEXEC);
}

// Between fork and exec: only system calls. The exec's errno travels back through the report.
[[noreturn]] void become(const char* directory, char* const* arguments, char* const* environment, int log, int report,
                         int gate) {
  ::setsid();
  forget_signals();
  take_descriptors(log, report, gate);
  char open = 0;
  if (::read(kGate, &open, 1) != 1) ::_exit(127);
  if (::chdir(directory) == 0) ::execve(arguments[0], arguments, environment);
  const int error = errno;
  static_cast<void>(!::write(kReport, &error, sizeof error));
  ::_exit(127);
}

tl::unexpected<Error> no(const std::string& what) {
  return failure(ErrorCode::kInternal, "cannot " + what + ": " + std::strerror(errno));
}

struct Pipe {
  UniqueFd reader, writer;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    return true;
  }
};

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note) {
  UniqueFd log(::open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return no("write " + spec.log_path);
  std::vector<std::string> arguments = spec.command, environment;
  for (const auto& [name, value] : spec.environment) environment.push_back(name + "=" + value);
  const auto argv = pointers(arguments), envp = pointers(environment);
  Pipe report, gate;
  if (!report.open() || !gate.open()) return no("open a pipe");
  const pid_t pid = ::fork();
  if (pid == 0)
    become(spec.directory.c_str(), argv.data(), envp.data(), log.get(), report.writer.get(), gate.reader.get());
  if (pid < 0) return no("fork");
  report.writer.reset();
  gate.reader.reset();
  if (const auto noted = note(pid); !noted) {
    gate.writer.reset();
    reap(pid);
    return failure(noted.error());
  }
  static_cast<void>(!::write(gate.writer.get(), "!", 1));
  int error = 0;  // nothing to read: exec has closed the pipe
  if (::read(report.reader.get(), &error, sizeof error) != sizeof error) return pid;
  reap(pid);
  errno = error;
  return no("start " + spec.command.front() + " in " + spec.directory);
}

}  // namespace pounce::launch
