// The GPUs that our own jobs wait for. Free GPUs go to those jobs first, so a new request is offered only the rest.
// Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/job.h"

namespace pounce::policy {

using GpuCounts = std::map<std::string, std::uint64_t>;  // by type; jobs that name no type are not counted

// `jobs`: this user's jobs in Slurm. `chosen`: the decisions for waiting leases; for a lease with a job in `jobs`,
// the job counts instead.
GpuCounts awaited_gpus(const std::vector<JobView>& jobs, const std::map<LeaseId, Resources>& chosen);

}  // namespace pounce::policy
