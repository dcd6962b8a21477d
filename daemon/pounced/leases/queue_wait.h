// What the core knows of a job that waits, as messages and documents tell it. Thread: any (values).
#pragma once

#include <cstdint>

#include "job/slurm_reason.h"
#include "model/queue_wait.h"

namespace pounce::daemon {

inline model::QueueWait wait_of(const job::Waiting& waiting, std::int64_t start_estimate_s) {
  return {waiting.sentence, waiting.ahead, start_estimate_s, waiting.limit, waiting.eta};
}

}  // namespace pounce::daemon
