// A short conversation with this instance's pounced: find it, say hello over ipc, ask one thing, read one answer.
// Never starts a daemon. Blocking, with a deadline for the whole of it. Thread: main.
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

// This instance's status document, of its running daemon: a JSON object.
Result<std::string> ask_status();

}  // namespace pounce::ctl
