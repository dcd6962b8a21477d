// Who holds what, as a user reads it: the jobs that hold GPUs first, then the others; what waits, by class. Pure.
// Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/allocations.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

// Own leases by job: "idle", "busy".
using LeaseStates = std::map<std::uint32_t, std::string>;

struct ClassQueue {
  std::string class_name;
  std::uint32_t jobs = 0, gpus = 0;  // that wait, and what they ask for
  std::int64_t oldest_s = 0;         // unix: since when the first of them waits
  std::map<std::string, std::uint32_t> reasons;  // Slurm's words
};

// That it is a lease of pounce, and which, stands in a comment that its user can write; of its own this machine's daemon knows it.
bool is_said(const AllocatedJob& job, const LeaseStates& states);

std::vector<AllocatedJob> by_weight(std::vector<AllocatedJob> jobs);  // those that run: most GPUs first, then the longest
std::vector<ClassQueue> queues_of(const std::vector<AllocatedJob>& jobs);
std::string gpus_in_words(const std::map<std::string, std::uint32_t>& gpus);  // "2 a100, 1 a100_3g.20gb"

std::vector<Cells> held_cells(const std::vector<AllocatedJob>& jobs, const LeaseStates& states, std::int64_t now_s);
std::vector<Cells> queue_cells(const std::vector<ClassQueue>& queues, std::int64_t now_s);

}  // namespace pounce::ctl
