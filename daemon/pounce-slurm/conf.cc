// SPDX-License-Identifier: GPL-3.0-or-later
#include "conf.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/process.h"
#include "base/unique_fd.h"
#include "facts.h"
#include "slurm_compat.h"

namespace pounce::slurm {
namespace {

// libslurm waits a minute for a configless source that does not answer.
constexpr unsigned kInitSeconds = 15;

bool readable(const char* path) { return static_cast<bool>(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC))); }

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

Result<void> conf_is_there() {
  if (const char* named = setting("SLURM_CONF")) {
    if (readable(named)) return {};
    return failure(ErrorCode::kSlurmConfig,
                   std::string("SLURM_CONF names ") + named + ", which cannot be read: " + std::strerror(errno),
                   "Correct SLURM_CONF, or unset it.");
  }
  ::unsetenv("SLURM_CONF");  // libslurm would take an empty value for a name
  if (readable("/etc/slurm/slurm.conf") || readable("/run/slurm/conf/slurm.conf") || setting("SLURM_CONF_SERVER"))
    return {};
  return failure(ErrorCode::kNoSlurm,
                 "there is no Slurm on this machine: SLURM_CONF is unset and no slurm.conf is found");
}

// libslurm's fatal() is exit(1), so a child makes the attempt and its exit code tells the result.
Result<void> try_init() {
  const auto child = start_function(Standing::kOurs, SIGKILL, [] {
    ::alarm(kInitSeconds);
    slurm_init(nullptr);
    return 0;
  });
  if (!child) return failure(child.error());
  const int status = wait_for(*child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return failure(ErrorCode::kSlurmUnreachable, "the source of Slurm's configuration did not answer");
  return failure(ErrorCode::kSlurmConfig, "libslurm could not use the cluster's configuration");
}

}  // namespace

Result<void> start_libslurm() {
  if (const auto there = conf_is_there(); !there) return there;
  if (const auto fits = check_libslurm(); !fits) return fits;
  if (const auto survived = try_init(); !survived) return survived;
  slurm_init(nullptr);
  return {};
}

}  // namespace pounce::slurm
