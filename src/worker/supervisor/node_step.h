// The step of a job that serves with the workers of one of its further nodes: this program again, started there by Slurm's
// own step launcher, for which libslurm has no public call (docs/decisions/0012-further-nodes-are-steps.md). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string>
#include <vector>

#include "base/process.h"
#include "pounce/ids.h"

namespace pounce::worker {

// argv: this process's, which begins with the program and "serve". job: Slurm's number of it. node: counted from the batch
// host, which is 0.
Program node_step(const std::vector<std::string>& argv, const std::string& job, std::uint32_t node, Epoch first_epoch);

}  // namespace pounce::worker
