// Which error a refusal or a job's end is, and which job may serve which request: pure functions. Thread: any.
#pragma once

#include <chrono>

#include "pounce/error.h"
#include "pounce/job.h"
#include "pounce/resources.h"

namespace pounce::lease {

// A refusal that the same request would get again: the request fails. Every other code leaves it open whether a job exists.
bool clear_refusal(ErrorCode code);

// The typed reason of a job that ended by itself or by somebody else's hand.
// grace: that a preempted job had, as far as it is known.
Error error_of_end(const JobView& view, std::chrono::seconds grace = {});

// srun did not give a job the workers of its further nodes: the next job would end likewise.
bool is_of_srun(const Error& end);

// A job with `have` can serve a request for `request`; what the request does not say may be anything.
bool covers(const Resources& have, const Resources& request);

}  // namespace pounce::lease
