// What the person is told, and which error a job's end is: pure functions of what Slurm says. Thread: any.
#pragma once

#include <chrono>
#include <string>

#include "pounce/error.h"
#include "pounce/job.h"
#include "pounce/resources.h"

namespace pounce::lease {

// A refusal that the same request would get again: the want fails. Every other code leaves it open whether a job exists.
bool clear_refusal(ErrorCode code);

// The typed reason of a job that ended by itself or by somebody else's hand.
// grace: that a preempted job had, as far as it is known.
Error error_of_end(const JobView& view, std::chrono::seconds grace = {});

// A job with `have` can serve a want for `want`; what the want does not say may be anything.
bool covers(const Resources& have, const Resources& want);

}  // namespace pounce::lease
