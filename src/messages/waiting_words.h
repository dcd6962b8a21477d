// Why a queued job waits, in words that need no knowledge of Slurm. Total: a reason that this build does not know is
// told as Slurm says it. docs/waiting.md has the table, compared with this by a test. Pure. Thread: any.
#pragma once

#include <string>

#include "job/slurm_reason.h"

namespace pounce::messages {

std::string waiting_words(const job::Waiting& waiting);

}  // namespace pounce::messages
