// One blocking question to pounce-slurm, for the moments before there is a loop. Thread: main.
#pragma once

#include "pounce/cluster.h"
#include "pounce/result.h"
#include "pounced/startup/config.h"
#include "slurm/slurm_gateway.h"

namespace pounce::daemon {

// With SLURM_CONF and nothing else of Slurm's environment.
slurm::GatewayOptions gateway_options(const Config& config);

Result<ClusterFacts> ask_facts(const Config& config);

}  // namespace pounce::daemon
