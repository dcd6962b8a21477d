// `pounced serve`: the daemon's life from start lock to end. Thread: main, which becomes the loop's.
#pragma once

#include "pounced/startup/setup.h"

namespace pounce::daemon {

// detached: started by `ensure`; logs to the state folder and reports on descriptor 3. Returns the exit code.
int serve(const CommandLine& command, bool detached);

}  // namespace pounce::daemon
