// An outcome as messages: one Outcome with the pickle and the leading small buffers, Chunks for the rest
// (protocol/messages.h, Outcome). Thread: any.
#pragma once

#include <vector>

#include "protocol/messages.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

struct OutcomeMessage {
  protocol::Outcome header;  // the sender fills in sent_ns
  std::vector<SharedBytes> payload, bulk;
};

OutcomeMessage outcome_message(const TaskId& task, const KeptOutcome& outcome);

}  // namespace pounce::worker
