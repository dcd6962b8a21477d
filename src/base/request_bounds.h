// Checks a request against the bounds of pounce/resources.h, where it comes from a user and before it goes to Slurm;
// on the wire the table of fields checks alone. Pure. Thread: any.
#pragma once

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce {

// Checks each field and the sums over all workers: kBadRequest.
Result<void> check_bounds(const Resources& resources);

}  // namespace pounce
