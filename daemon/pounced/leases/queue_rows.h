// What the batch system says now about this user's jobs of pounce, as the rows that a user reads. Pure. Thread: any.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// Without request number and launcher. Fits into one message of the control channel: beyond some hundred rows the rest is left
// out.
protocol::QueueIs queue_rows(const Result<std::vector<JobView>>& views);

}  // namespace pounce::daemon
