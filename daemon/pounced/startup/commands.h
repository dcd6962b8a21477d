// What pounced's command line can say: `serve`, `ensure` and `where`. Thread: main.
#pragma once

#include <string>

#include "pounce/error.h"
#include "pounced/startup/setup.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

// `pounced serve`: the daemon's life from start lock to end. The main thread becomes the loop's.
// detached: started by `ensure`; logs to the state folder and reports on descriptor 3. Returns the exit code.
int serve(const CommandLine& command, bool detached);

// `pounced ensure`: the endpoint of this instance's live daemon, starting one where none lives. Any number of starters
// at once end with one daemon: the start lock decides, the others wait for its endpoint.

// start false: kDaemonUnavailable when none lives.
Result<protocol::EndpointFile> ensure_daemon(const CommandLine& command, bool start);

// `pounced where`: what a start here would use, and what stands in its way; nothing is made or started. pouncectl finds
// logs and faults with it.
struct Whereabouts {
  std::string document;  // one JSON object: what is known, and `error` where a start would fail
  bool fine = false;
};

// folders: also names the other instances' folders in which no daemon can be running here.
Whereabouts whereabouts(const CommandLine& command, bool folders = false, const SlurmPlaces& places = {});

}  // namespace pounce::daemon
