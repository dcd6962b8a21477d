// Starting a program that outlives us. Nothing runs before the caller has noted who it is: the child waits at a gate
// between fork and exec, and ends by itself when its parent dies there. Thread: loop.
#pragma once

#include <sys/types.h>

#include <functional>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::launch {

// In a session of its own, output appended to the spec's log, no inherited descriptors, no blocked or ignored signals,
// exactly the spec's environment. `note` is called before the program runs; its error ends the child unstarted.
Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note);

}  // namespace pounce::launch
