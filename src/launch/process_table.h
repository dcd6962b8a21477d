// Facts from /proc about processes. A number alone does not identify a process, since it is used again; number, start
// and boot together do. Thread: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace pounce::launch {

std::string boot_id();
// Clock ticks between boot and the start of `pid`; nullopt when there is none, or only its zombie. Not a time of day:
// that would move when the clock is set.
std::optional<std::uint64_t> start_ticks(pid_t pid);
// Sends SIGKILL to every process in the session of that leader.
void kill_session(pid_t leader);

}  // namespace pounce::launch
