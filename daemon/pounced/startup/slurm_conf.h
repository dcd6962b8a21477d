// Reads the facts of Slurm's configuration that pounced needs before it may speak to Slurm: whether there is one on
// this machine, the cluster's name and the SlurmUser. It reads the text, because libslurm can end its process; only
// pounce-slurm uses libslurm. Thread: any.
#pragma once

#include <string>

#include "pounce/result.h"

namespace pounce::daemon {

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

}  // namespace pounce::daemon
