// Turns the batch system's current view of this user's pounce jobs into the rows that a user reads. Pure.
// Thread: any.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// Sets neither the request number nor the launcher. The answer fits into one message of the control channel: rows
// beyond some hundred are left out.
protocol::QueueIs queue_rows(const Result<std::vector<JobView>>& views);

}  // namespace pounce::daemon
