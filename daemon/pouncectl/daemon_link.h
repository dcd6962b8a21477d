// A short conversation with this instance's pounced: find it, say hello over ipc, ask one thing, read one answer.
// Never starts a daemon. Blocking, with a deadline for the whole of it. Thread: main.
#pragma once

#include <chrono>
#include <string>

#include "pounce/result.h"
#include "protocol/messages.h"

namespace pounce::ctl {

struct Endpoint {  // of the endpoint file (docs/architecture.md)
  std::string door, key, instance, cluster, launcher, log;
  int pid = 0;
};

// A sibling program of this one: pounced, pounce-slurm.
std::string sibling(const std::string& program);

// kDaemonUnavailable when none runs.
Result<Endpoint> find_daemon();
Result<protocol::Header> ask(const Endpoint& daemon, const protocol::Header& question,
                             std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace pounce::ctl
