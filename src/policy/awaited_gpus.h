// The GPUs that our own jobs wait for: what is free is theirs first, so whoever asks next is told of what is left. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/job.h"

namespace pounce::policy {

using GpuCounts = std::map<std::string, std::uint64_t>;  // by type; of those that name none nothing is counted

// `jobs`: of this user, as Slurm tells them. `chosen`: what was decided for leases that wait; of those among the jobs Slurm tells
// it better.
GpuCounts awaited_gpus(const std::vector<JobView>& jobs, const std::map<LeaseId, Resources>& chosen);

}  // namespace pounce::policy
