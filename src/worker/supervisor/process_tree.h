// Every process that descends from this one. The supervisor is their reaper (PR_SET_CHILD_SUBREAPER), so processes
// that fork twice or make their own session stay below it. Thread: any.
#pragma once

#include <sys/types.h>

#include <vector>

namespace pounce::worker {

std::vector<pid_t> descendants_of(pid_t root);
// Sends `signal` to all of them and returns their number. Call it until it returns 0, since new ones may start
// meanwhile.
std::size_t signal_descendants(pid_t root, int signal);

}  // namespace pounce::worker
