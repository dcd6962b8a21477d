// Whether a request is within the bounds of pounce/resources.h. For those who have it from people, and for who hands it to
// Slurm; on the wire the table of fields decides alone. Pure. Thread: any.
#pragma once

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce {

// Each field, and what all workers ask for together: kBadRequest.
Result<void> check_bounds(const Resources& asked);

}  // namespace pounce
