// A short conversation with this instance's pounced: find it, say hello over ipc, ask one thing, read one answer.
// Never starts a daemon. Blocking, with a deadline for the whole of it. Thread: main.
#pragma once

#include <chrono>
#include <string>

#include "pounce/result.h"
#include "protocol/endpoint_file.h"
#include "protocol/messages.h"

namespace pounce::ctl {

// A sibling program of this one: pounced, pounce-slurm.
std::string sibling(const std::string& program);

// kDaemonUnavailable when none runs.
Result<protocol::EndpointFile> find_daemon();
Result<protocol::Header> ask(const protocol::EndpointFile& daemon, const protocol::Header& question,
                             std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace pounce::ctl
