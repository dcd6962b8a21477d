// Starting a program that outlives us, and knowing it again by (pid, start time): a pid alone is recycled.
// Thread: loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::launch {

// In a session of its own, output to the spec's log, no inherited descriptors, exactly the spec's environment.
Result<pid_t> start_detached(const JobSpec& spec);

// Seconds since 1970 at which `pid` started, from /proc; nullopt when there is no such process or only its zombie.
std::optional<std::int64_t> process_start_time(pid_t pid);

}  // namespace pounce::launch
