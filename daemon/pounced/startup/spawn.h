// Starts `pounced serve` so that nothing ties it to its starter: own session, no inherited descriptor but the report
// pipe, standard output and error in the log, a clean environment, not our child. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::daemon {

// The variables that a daemon may see: no job's SLURM_*, no secrets of a shell.
Environment daemon_environment();

// Returns the report pipe's reading end once the program runs. End of file without a line means that the daemon died.
Result<UniqueFd> spawn_detached(const std::vector<std::string>& command, const std::string& log_path);

}  // namespace pounce::daemon
