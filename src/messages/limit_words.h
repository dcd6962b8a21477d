// A limit that a job waits for: which, its number, how much of it is used, and what ends the wait. Pure. Thread: any.
#pragma once

#include <string>

#include "job/slurm_reason.h"
#include "pounce/job.h"

namespace pounce::messages {

// of_class: what the job's class is called, "class lion".
std::string limit_words(const job::Limit& limit, const LimitUse& use, const std::string& of_class);

}  // namespace pounce::messages
