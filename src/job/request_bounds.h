// Whether a request is within the bounds of pounce/resources.h. Programs check it where a request comes from a user and
// where it goes to Slurm; on the wire the table of fields decides alone. Pure. Thread: any.
#pragma once

#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::job {

// kBadRequest: a field is out of its bounds, or all workers together are.
Result<void> check_bounds(const Resources& request);

}  // namespace pounce::job
