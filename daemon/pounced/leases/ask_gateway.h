// Asks pounce-slurm one question and blocks, for use before the event loop runs. Thread: main.
#pragma once

#include "pounce/cluster.h"
#include "pounce/result.h"
#include "pounced/startup/config.h"
#include "slurm/slurm_gateway.h"

namespace pounce::daemon {

// The helper gets SLURM_CONF and SLURM_CONF_SERVER, and no other variable of Slurm's.
slurm::GatewayOptions gateway_options(const Config& config);

Result<ClusterFacts> ask_facts(const Config& config);

}  // namespace pounce::daemon
