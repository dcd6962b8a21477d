// The environment on both sides of the interpreter's start: what the batch system says about the job, and what user
// code may see of it. User code sees no SLURM_* (Lightning and others act on them) and no variable of pounce. Thread:
// any.
#pragma once

#include <string>

#include "base/environment.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

JobFacts job_facts(const Environment& environment, const std::string& stand_in, const std::string& host_name);
// Removes the variables of the batch system, of launchers and of pounce. CUDA_VISIBLE_DEVICES and the like stay.
Environment for_user_code(const Environment& environment);

}  // namespace pounce::worker
