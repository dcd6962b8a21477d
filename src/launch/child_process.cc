#include "launch/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace pounce::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Between fork and exec: only system calls. The exec's errno travels back through `report`.
[[noreturn]] void become(const char* directory, char* const* arguments, char* const* environment, int log, int report) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::dup2(report, 3);
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  ::close_range(4, ~0u, 0);
  if (::chdir(directory) == 0) ::execve(arguments[0], arguments, environment);
  const int error = errno;
  static_cast<void>(!::write(3, &error, sizeof error));
  ::_exit(127);
}

std::int64_t boot_time_s() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);)
    if (line.starts_with("btime ")) return std::stoll(line.substr(6));
  return 0;
}

}  // namespace

Result<pid_t> start_detached(const JobSpec& spec) {
  UniqueFd log(::open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return failure(ErrorCode::kInternal, "cannot write " + spec.log_path + ": " + std::strerror(errno));
  std::vector<std::string> arguments = spec.command, environment;
  for (const auto& [name, value] : spec.environment) environment.push_back(name + "=" + value);
  const auto argv = pointers(arguments), envp = pointers(environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(ErrorCode::kInternal, "no pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) become(spec.directory.c_str(), argv.data(), envp.data(), log.get(), writer.get());
  if (pid < 0) return failure(ErrorCode::kInternal, std::string("cannot fork: ") + std::strerror(errno));
  writer.reset();
  int error = 0;  // nothing to read: exec closed the pipe
  if (::read(reader.get(), &error, sizeof error) == sizeof error)
    return failure(ErrorCode::kInternal, "cannot start " + spec.command.front() + " in " + spec.directory + ": " + std::strerror(error));
  return pid;
}

std::optional<std::int64_t> process_start_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // proc(5): the name in parentheses may contain anything; fields count from after the last ')'.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  long long ticks = 0;
  fields >> ticks;
  return boot_time_s() + ticks / ::sysconf(_SC_CLK_TCK);
}

}  // namespace pounce::launch
