// Why a queued job waits, in words that need no knowledge of Slurm. Total: a reason that this build does not know is
// told as Slurm says it. docs/waiting.md has the table, compared with this by a test. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "job/slurm_reason.h"
#include "model/job.h"

namespace pounce::messages {

// "1 job", "2 jobs".
inline std::string counted(std::uint64_t count, const std::string& one) {
  std::string words = std::to_string(count);
  words.append(" ").append(one);
  return count == 1 ? words : words.append("s");
}

// A limit that a job waits for: which, its number, how much of it is used, and what ends the wait.

// of_class: what the job's class is called, "class lion".
std::string limit_words(const job::Limit& limit, const LimitUse& use, const std::string& of_class);

std::string waiting_words(const job::Waiting& waiting);

}  // namespace pounce::messages
