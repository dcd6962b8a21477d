// SPDX-License-Identifier: GPL-3.0-or-later
#include "conf.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "facts.h"
#include "slurm_compat.h"

namespace pounce::slurm {
namespace {

bool readable(const char* path) { return ::access(path, R_OK) == 0; }

Result<void> conf_is_there() {
  if (const char* named = std::getenv("SLURM_CONF")) {
    if (readable(named)) return {};
    return failure(ErrorCode::kSlurmConfig, std::string("SLURM_CONF names ") + named + ", which cannot be read",
                   "Correct SLURM_CONF, or unset it.");
  }
  if (readable("/etc/slurm/slurm.conf") || readable("/run/slurm/conf/slurm.conf") ||
      std::getenv("SLURM_CONF_SERVER") != nullptr)
    return {};
  return failure(ErrorCode::kNoSlurm, "there is no Slurm on this machine: SLURM_CONF is unset and no slurm.conf is found");
}

// fatal() in libslurm is exit(1): the child pays with its life, we learn from its exit code.
bool survives_init() {
  const pid_t child = ::fork();
  if (child == 0) {
    slurm_init(nullptr);
    ::_exit(0);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<void> start_libslurm() {
  if (const auto there = conf_is_there(); !there) return there;
  if (const auto fits = check_libslurm(); !fits) return fits;
  if (!survives_init())
    return failure(ErrorCode::kSlurmConfig, "libslurm could not read the cluster's configuration");
  slurm_init(nullptr);
  return {};
}

}  // namespace pounce::slurm
