// The names in a policy that must exist: classes in preempts and fallbacks, options of sbatch, placeholders. Pure.
// Thread: any.
#pragma once

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

// Checks them, and replaces the classes that a class preempts by their QoS, sorted.
Result<void> resolve(Policy& policy);

}  // namespace pounce::policy
