// Turns a user's request to release leases into core events, and reports the state of each lease. Pure. Thread: any.
#pragma once

#include "core/lease/lease_core.h"
#include "protocol/messages.h"

namespace pounce::daemon {

lease::ReleaseAsked release_asked(const LeaseId& lease, const protocol::ReleaseAsk& message);
protocol::ReleaseIs release_rows(const protocol::ReleaseAsk& message, const lease::LeaseCore& core);

}  // namespace pounce::daemon
