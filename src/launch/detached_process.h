// Programs that outlive us: how they are started, and how a later daemon knows them again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "model/job.h"
#include "pounce/error.h"

namespace pounce::launch {

// What /proc tells of processes. A number alone does not name a process, it is used again; number, start and boot do.
// Thread: any.
std::string boot_id();
// Clock ticks between boot and the start of `pid`; nullopt when there is none, or only its zombie. Not a time of day:
// that would move when the clock is set.
std::optional<std::uint64_t> start_ticks(pid_t pid);
// Sends SIGKILL to every process in the session of that leader.
void kill_session(pid_t leader);

// Starting a program that outlives us. Nothing runs before the caller has noted who it is: the child waits at a gate
// between fork and exec, and ends by itself when its parent dies there. Thread: loop.
// The program gets a session of its own, the spec's log for appended output, no inherited descriptors, no blocked or
// ignored signals, and exactly the spec's environment. `note` is called before it runs; an error of `note` ends the
// child unstarted.
Result<pid_t> start_detached(const JobSpec& spec, const std::function<Result<void>(pid_t)>& note);

}  // namespace pounce::launch
