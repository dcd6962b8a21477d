// Gathers what `ensure` and `serve` need first: the configuration, the launcher, the instance and where its files
// are. The launcher is chosen here: without any sign of Slurm and without a choice it is the local one, and the user
// is told; in every other case it is the chosen one, Slurm without a choice, or an error. There is no silent
// fallback. Thread: main, before the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pounce/result.h"
#include "pounced/startup/config.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"
#include "pounced/startup/slurm_conf.h"
#include "protocol/endpoint_file.h"

namespace pounce::daemon {

struct CommandLine {
  std::string config;                      // --config
  std::string launcher;                    // --launcher
  std::string state_folder;                // --state-folder: what `ensure` chose, where nothing is configured
  std::optional<std::uint32_t> outer_job;  // --outer-job: of the job in which `ensure` ran
};

struct Setup {
  Config config;  // programs and state folder filled in
  LauncherKind launcher = LauncherKind::kSlurm;
  std::string notice;  // for the user; empty: nothing to say
  SlurmSource slurm;
  std::string slurm_user;
  Place place;
  InstanceId instance;
  Folders folders;
  std::optional<protocol::EndpointFile> live;  // of the pounced whose folder was chosen because it lives there
};

Result<Setup> set_up(const CommandLine& command, const SlurmPlaces& places = {});

// kRefusesRoot for root and SlurmUser: their jobs would not be a user's.
Result<void> may_use_slurm(unsigned uid, const std::string& slurm_user);

}  // namespace pounce::daemon
