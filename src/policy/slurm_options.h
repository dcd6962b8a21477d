// Options of sbatch that a user may pass on, where the policy says so. Pure. Thread: any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

// All that a policy may allow: nothing that pounce itself sets or needs.
const std::vector<std::string>& slurm_options_there_are();
// kBadRequest: names the option that is not passed on, and those that are.
Result<void> check_slurm_options(const Policy& policy, const std::map<std::string, std::string>& asked);

}  // namespace pounce::policy
