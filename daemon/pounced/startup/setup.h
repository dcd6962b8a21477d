// What both `ensure` and `serve` must know before anything else: the configuration, the launcher, the instance, where
// its files are, whether there is a Slurm. Thread: main, before the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pounce/error.h"
#include "pounced/startup/config.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

// The sibling programs of this one, where the configuration does not name others. Thread: any.
std::string this_program();
std::string beside_this_program(const std::string& name);

// What pounced must know of Slurm's configuration before it may speak to Slurm: whether there is one on this machine,
// the cluster's name and the SlurmUser. Reads the text; libslurm, which can end its process, is pounce-slurm's.
// Thread: any.
enum class SlurmFound { kNothing, kFile, kConfigless };

struct SlurmSource {
  SlurmFound found = SlurmFound::kNothing;
  std::string path;  // kFile: the slurm.conf
};

struct SlurmPlaces {  // where to look; tests look elsewhere
  std::string default_conf = "/etc/slurm/slurm.conf";
  std::string configless_folder = "/run/slurm/conf";
};

// Looks at SLURM_CONF, the default file, the configless cache and SLURM_CONF_SERVER, in libslurm's order.
SlurmSource find_slurm(const SlurmPlaces& places = {});

struct SlurmConf {
  std::string cluster;
  std::string slurm_user = "root";  // Slurm's own default
};

// kSlurmConfig when it cannot be read or names no cluster. `Include` is followed one level.
Result<SlurmConf> read_slurm_conf(const std::string& path);

// The rule of the launcher: without any sign of Slurm, and with nothing configured, the local one (and the user is
// told); in every other case the requested one, or an error. Never a silent fallback.
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
  InstanceScope scope;
  InstanceId instance;
  Folders folders;
  std::optional<protocol::EndpointFile> live;  // of the pounced whose folder was chosen because it lives there
};

Result<Setup> set_up(const CommandLine& command, const SlurmPlaces& places = {});

// kRefusesRoot for root and SlurmUser: their jobs would not be a user's.
Result<void> may_use_slurm(unsigned uid, const std::string& slurm_user);

}  // namespace pounce::daemon
