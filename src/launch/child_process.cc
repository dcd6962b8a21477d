#include "launch/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/process.h"
#include "base/unique_fd.h"

namespace pounce::launch {

Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note) {
  const UniqueFd log(::open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log)
    return failure(ErrorCode::kInternal, "cannot write " + spec.log_path + ": " + std::strerror(errno));
  Program program{.command = spec.command};
  program.environment = spec.environment;
  program.directory = spec.directory;
  program.descriptors = {{STDOUT_FILENO, log.get()}, {STDERR_FILENO, log.get()}};
  program.standing = Standing::kOwnSession;
  program.before_exec = note;
  return start_process(program);
}

}  // namespace pounce::launch
