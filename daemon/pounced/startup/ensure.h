// `pounced ensure`: returns the endpoint of this instance's live daemon, and starts one where none lives. Any number
// of starters at once end with one daemon: the start lock decides, and the others wait for its endpoint.
// Thread: main.
#pragma once

#include <vector>

#include "pounce/result.h"
#include "pounced/startup/setup.h"
#include "protocol/endpoint_file.h"

namespace pounce::daemon {

// start false: kDaemonUnavailable when none lives.
Result<protocol::EndpointFile> ensure_daemon(const CommandLine& command, bool start);

}  // namespace pounce::daemon
