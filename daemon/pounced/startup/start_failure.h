// Why a start failed, for the starters that waited for it: its report line (start_report.h), in a file beside the
// lock, under the failed process's owner record. They all report the same failure at once instead of running into it
// one after another. Best effort: if the file cannot be written, the next starter tries by itself. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pounced/startup/folders.h"
#include "pounced/startup/start_lock.h"

namespace pounce::daemon {

void leave_start_failure(const Folders& folders, const LockOwner& starter, std::string_view report);
// Returns the report that this starter left; nullopt: none.
std::optional<std::string> start_failure_of(const Folders& folders, const LockOwner& starter);

}  // namespace pounce::daemon
