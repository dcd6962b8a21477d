// One query to this instance's pounced: finds it, connects over ipc, sends a request, reads the answer. Never starts
// a daemon. Blocking, with one deadline for all of it. Thread: main.
#pragma once

#include <chrono>
#include <string>

#include "pounce/result.h"
#include "protocol/endpoint_file.h"
#include "protocol/messages.h"

namespace pounce::ctl {

// kDaemonUnavailable when none runs.
Result<protocol::EndpointFile> find_daemon();
Result<protocol::Header> ask(const protocol::EndpointFile& daemon, const protocol::Header& question,
                             std::chrono::milliseconds patience = std::chrono::seconds(10));

// The running daemon's status document: a JSON object.
Result<std::string> ask_status();

}  // namespace pounce::ctl
