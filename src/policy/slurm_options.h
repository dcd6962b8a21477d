// Options of sbatch that a user may pass on if the policy allows it. Pure. Thread: any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

// All options that a policy may allow: none that pounce itself sets or needs.
const std::vector<std::string>& slurm_options_there_are();
// kBadRequest names the refused option and the allowed ones.
Result<void> check_slurm_options(const Policy& policy, const std::map<std::string, std::string>& options);

}  // namespace pounce::policy
