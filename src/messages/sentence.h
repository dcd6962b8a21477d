// The catalogue of what pounce says of leases and tasks: a sentence for each code of pounce/cause.h, and one of what a
// lease used. Nothing below the edges makes a sentence, and nothing looks at one. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "model/job.h"
#include "model/worker_report.h"
#include "pounce/cause.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::messages {

// A code's own sentence; empty for kNone. States and history lines start small and end without a full stop; ends are
// whole sentences.
std::string sentence(const Cause& cause);

// Why a lease is in its state; class and wait matter only while it waits for Slurm. not_before_s: the Unix time
// before which it is not submitted; 0: none.
std::string reason(const Cause& cause, const std::string& class_name, const model::QueueWait& wait,
                   std::int64_t not_before_s = 0);

// What an expected start rests on.
std::string basis(const Eta& eta);

std::string text(const Error& error);

// What to do about it, where that is more than the error code's own remedy; else empty.
std::string remedy(const Cause& cause);

// What a lease used of what it asked for, and what to ask for next time, in one sentence.

// "asked 32 GiB of memory, used 1.2 GiB at most: ask for 2 GiB"; "what was asked for fits what was used".
// over: it has ended, so the time that it took is known.
std::string suggestion(const Resources& resources, const model::JobFigures& used, bool over);

std::string memory_words(std::uint64_t mib);  // "1.2 GiB", "300 MiB"

}  // namespace pounce::messages
