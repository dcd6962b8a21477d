// Starting `pounced serve`, and the line that tells how that went.

#include "pounced/startup/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_io.h"
#include "base/log.h"
#include "job/inside_job.h"
#include "pounced/storage/file.h"
#include "protocol/codec.h"

extern char** environ;

namespace pounce::daemon {
namespace {

constexpr std::string_view kPassed[] = {
    "HOME", "USER", "LOGNAME", "PATH", "LANG", "TMPDIR", "SLURM_CONF_SERVER", "POUNCE_LOG", "POUNCE_CONFIG"};

bool passes(std::string_view name) {
  if (name.starts_with("XDG_") || job::is_job_identity(name)) return true;
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
  program.descriptors = {
      {STDOUT_FILENO, log.get()}, {STDERR_FILENO, log.get()}, {StartReport::kDescriptor, pipe->writer.get()}};
  program.standing = Standing::kOrphan;
  program.file_mask = 077;
  if (const auto started = start_process(program); !started)
    return failure(ErrorCode::kDaemonUnavailable, started.error().text);
  return std::move(pipe->reader);
}

void StartReport::failed(const Error& error) { tell(protocol::encode_error(error)); }

void StartReport::tell(std::string_view line) {
  if (!pipe_) return;
  write_all(pipe_.get(), line);  // a starter that is gone does not matter
  pipe_.reset();
}

void leave_start_failure(const Folders& folders, const LockOwner& starter, std::string_view report) {
  const auto left = replace_file(folders.start_failure(), encode_owner(starter).append(report));
  if (!left) spdlog::warn("{}", left.error().text);
}

std::optional<std::string> start_failure_of(const Folders& folders, const LockOwner& starter) {
  const auto text = read_own_file(folders.start_failure());
  if (!text) return std::nullopt;
  const std::size_t line = text->find('\n');
  if (line == std::string::npos || decode_owner(text->substr(0, line)) != starter) return std::nullopt;
  return text->substr(line + 1);
}

}  // namespace pounce::daemon
