// What pounce-slurm says about Slurm, asked without a daemon. Blocking, with a deadline. Thread: main.
#pragma once

#include <string>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::ctl {

Result<std::string> loaded_libslurm();
Result<ClusterFacts> cluster_facts();

}  // namespace pounce::ctl
