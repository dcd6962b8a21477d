// What a lease used of its requested resources, and what to request next time, in one sentence. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "model/job_figures.h"
#include "pounce/resources.h"

namespace pounce::messages {

// "asked 32 GiB of memory, used 1.2 GiB at most: ask for 2 GiB"; "what was asked for fits what was used".
// over: it has ended, so the time that it took is known.
std::string suggestion(const Resources& resources, const model::JobFigures& used, bool over);

std::string memory_words(std::uint64_t mib);  // "1.2 GiB", "300 MiB"

}  // namespace pounce::messages
