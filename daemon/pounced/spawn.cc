#include "pounced/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "pounced/start_report.h"

extern char** environ;

namespace pounce::daemon {
namespace {

constexpr std::string_view kPassed[] = {"HOME",       "USER",   "LOGNAME",           "PATH",       "LANG",
                                        "SLURM_CONF", "TMPDIR", "SLURM_CONF_SERVER", "POUNCE_LOG", "POUNCE_CONFIG"};

bool passes(std::string_view name) {
  if (name.starts_with("XDG_")) return true;
  for (const std::string_view known : kPassed)
    if (name == known) return true;
  return false;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// ---- between fork and exec: system calls only ----

void reset_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // a starter's SIG_IGN is inherited else
}

void arrange_descriptors(int report, int log, int null) {
  // Out of the way first: any of them may have one of the numbers 0 to 3.
  const int high_report = ::fcntl(report, F_DUPFD, 10), high_log = ::fcntl(log, F_DUPFD, 10),
            high_null = ::fcntl(null, F_DUPFD, 10);
  ::dup2(high_null, 0);
  ::dup2(high_log, 1);
  ::dup2(high_log, 2);
  ::dup2(high_report, StartReport::kDescriptor);
  ::close_range(StartReport::kDescriptor + 1, ~0U, 0);
}

[[noreturn]] void become_daemon(char* const* argv, char* const* environment, int report, int log, int null) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // not a session leader: it can never get a terminal
  reset_signals();
  ::umask(077);
  if (::chdir("/") != 0) ::_exit(126);
  arrange_descriptors(report, log, null);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

}  // namespace

std::map<std::string, std::string> daemon_environment() {
  std::map<std::string, std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || !passes(entry.substr(0, equals))) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

Result<UniqueFd> spawn_detached(const std::vector<std::string>& command, const std::string& log_path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(ErrorCode::kDaemonUnavailable, "no pipe for a new pounced");
  UniqueFd reader(ends[0]), writer(ends[1]);
  const UniqueFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!log || !null)
    return failure(ErrorCode::kDaemonUnavailable, log_path + " cannot be written: " + std::strerror(errno));
  std::vector<std::string> arguments = command, environment;
  for (const auto& [name, value] : daemon_environment()) environment.push_back(name + "=" + value);
  const auto argv = pointers(arguments), envp = pointers(environment);
  const pid_t child = ::fork();
  if (child == 0) become_daemon(argv.data(), envp.data(), writer.get(), log.get(), null.get());
  if (child < 0) return failure(ErrorCode::kDaemonUnavailable, std::string("no new process: ") + std::strerror(errno));
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return reader;
}

}  // namespace pounce::daemon
