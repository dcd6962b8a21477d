// Why a start failed, for those who waited for it: its one line (start_report.h), in a file beside the lock, under the owner
// record of the process that failed. They are told the same at once, instead of starting one after another into the same
// trouble. Best effort: where the file cannot be written, the next one tries by itself. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pounced/startup/folders.h"
#include "pounced/startup/start_lock.h"

namespace pounce::daemon {

void leave_start_failure(const Folders& folders, const LockOwner& starter, std::string_view report);
// What that starter left; nullopt: nothing.
std::optional<std::string> start_failure_of(const Folders& folders, const LockOwner& starter);

}  // namespace pounce::daemon
