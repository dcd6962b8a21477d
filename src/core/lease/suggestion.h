// What a lease used of what it asked for, and what to ask for next time, in one sentence. Pure. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "pounce/resources.h"

namespace pounce::lease {

// Since the job began: of the mean worker, cpu of all workers together, memory of the largest.
struct Use {
  std::chrono::milliseconds busy{0}, idle{0}, cpu{0};
  std::uint64_t memory_mib = 0;
  std::int32_t gpu_percent = -1;                               // of busy, that the GPUs computed; -1: not known
  std::uint64_t gpu_memory_mib = 0, gpu_memory_total_mib = 0;  // of one GPU; 0: not known
};

// "asked 32 GiB of memory, used 1.2 GiB at most: ask for 2 GiB"; "what was asked for fits what was used".
// over: it has ended, so the time that it took is known.
std::string suggestion(const Resources& asked, const Use& used, bool over);

std::string memory_words(std::uint64_t mib);  // "1.2 GiB", "300 MiB"

}  // namespace pounce::lease
