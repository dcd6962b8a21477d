// The step of a job that serves the workers of one further node. Slurm's own step launcher starts this program there
// again. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.h"
#include "job/slurm_step.h"
#include "pounce/ids.h"

namespace pounce::worker {

// argv: this process's, which begins with the program and "serve". node: counted from the lease's first, which is 0.
Program node_step(const std::vector<std::string>& argv, const job::JobNodes& nodes, std::uint32_t node, Epoch first_epoch);

}  // namespace pounce::worker
