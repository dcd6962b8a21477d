// The environment on both sides of the interpreter's start: what the batch system says about the job, and what user code
// may see of it. User code sees no SLURM_* (Lightning and others act on them, jupyter.md) and nothing of ours.
// Thread: any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "worker/supervisor_options.h"

namespace pounce::worker {

using Environment = std::map<std::string, std::string>;

Environment environment_of(char** environ);
JobFacts job_facts(const Environment& environment, const std::string& stand_in, const std::string& host_name);
// Without the batch system's, the launchers' and our own variables. CUDA_VISIBLE_DEVICES and the like stay.
Environment for_user_code(const Environment& environment);

}  // namespace pounce::worker
