// Starts a program that outlives us. The program does not run before the caller has recorded its pid: the child waits
// between fork and exec, and ends by itself when its parent dies there. Thread: loop.
#pragma once

#include <sys/types.h>

#include <functional>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::launch {

// The program gets a session of its own, the spec's log for appended output, no inherited descriptors, no blocked or
// ignored signals, and exactly the spec's environment. `note` is called before it runs; an error of `note` ends the
// child unstarted.
Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note);

}  // namespace pounce::launch
