// Converts the core's facts about a waiting job to the form that messages and documents use. Thread: any (values).
#pragma once

#include <cstdint>

#include "job/slurm_reason.h"
#include "model/queue_wait.h"

namespace pounce::daemon {

inline model::QueueWait wait_of(const job::Waiting& waiting, std::int64_t start_estimate_s) {
  return {waiting.sentence, waiting.ahead, start_estimate_s, waiting.limit, waiting.eta};
}

}  // namespace pounce::daemon
