// The names in a policy that must be of something: classes in preempts and fallbacks, options of sbatch, placeholders.
// Pure. Thread: any.
#pragma once

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

// Checks them, and turns the classes that a class preempts into their QoS, sorted.
Result<void> resolve(Policy& policy);

}  // namespace pounce::policy
