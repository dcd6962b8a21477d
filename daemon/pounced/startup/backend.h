// This daemon's launcher, tied to the loop: for Slurm, the gateway's descriptor and deadlines are watched. Helper and
// descriptor change when pounce-slurm is replaced, so the watch is renewed after each call. Thread: loop.
#pragma once

#include <memory>

#include "launch/launcher.h"
#include "pounced/startup/setup.h"
#include "transport/event_loop.h"

namespace pounce::daemon {

std::unique_ptr<launch::Launcher> make_backend(transport::EventLoop& loop, const Setup& setup);

}  // namespace pounce::daemon
