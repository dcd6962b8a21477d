#include "launch/detached_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/process.h"
#include "base/unique_fd.h"

namespace pounce::launch {
namespace {

struct Stat {
  char state = 'X';
  pid_t session = 0;
  std::uint64_t start = 0;
};

// proc(5), /proc/PID/stat: the name in parentheses may contain anything; fields count from after the last ')'.
std::optional<Stat> read_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text, skipped;
  if (!std::getline(file, text, '\0') || text.rfind(')') == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  Stat stat;
  fields >> stat.state >> skipped >> skipped >> stat.session;  // 3 state, 4 parent, 5 group, 6 session
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> stat.start;
  if (!fields) return std::nullopt;
  return stat;
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::optional<std::uint64_t> start_ticks(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return stat->start;
}

void kill_session(pid_t leader) {
  std::error_code gone;  // processes end while we look
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
    if (const auto stat = read_stat(pid); stat && stat->session == leader) ::kill(pid, SIGKILL);
  }
}

Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note) {
  const UniqueFd log(::open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return failure(ErrorCode::kInternal, "cannot write " + spec.log_path + ": " + std::strerror(errno));
  Program program{.command = spec.command};
  program.environment = spec.environment;
  program.directory = spec.directory;
  program.descriptors = {{STDOUT_FILENO, log.get()}, {STDERR_FILENO, log.get()}};
  program.standing = Standing::kOwnSession;
  program.before_exec = note;
  return start_process(program);
}

}  // namespace pounce::launch
