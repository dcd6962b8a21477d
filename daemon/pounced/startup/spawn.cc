#include "pounced/startup/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/pipe.h"
#include "base/process.h"
#include "pounced/startup/start_report.h"

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

}  // namespace

Environment daemon_environment() {
  Environment variables = environment_of(environ);
  std::erase_if(variables, [](const auto& entry) { return !passes(entry.first); });
  return variables;
}

Result<UniqueFd> spawn_detached(const std::vector<std::string>& command, const std::string& log_path) {
  auto pipe = make_pipe();
  if (!pipe) return failure(ErrorCode::kDaemonUnavailable, "no pipe for a new pounced");
  const UniqueFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return failure(ErrorCode::kDaemonUnavailable, log_path + " cannot be written: " + std::strerror(errno));
  Program program{.command = command};
  program.environment = daemon_environment();
  program.directory = std::string("/");
  program.descriptors = {{STDOUT_FILENO, log.get()}, {STDERR_FILENO, log.get()}, {StartReport::kDescriptor, pipe->writer.get()}};
  program.standing = Standing::kOrphan;
  program.file_mask = 077;
  if (const auto started = start_process(program); !started)
    return failure(ErrorCode::kDaemonUnavailable, started.error().text);
  return std::move(pipe->reader);
}

}  // namespace pounce::daemon
