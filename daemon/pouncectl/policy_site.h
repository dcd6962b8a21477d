// The simulated site of a policy. Pure. Thread: any.
#pragma once

#include "policy/policy.h"
#include "policy_simulator/site.h"
#include "pounce/result.h"
#include "pouncectl/commands.h"

namespace pounce::ctl {

// kBadRequest: the policy has no class to simulate.
Result<policy_simulator::Site> site_of(const policy::Policy& policy, const SimulateOptions& options);

}  // namespace pounce::ctl
