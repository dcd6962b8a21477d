// The cluster's allocations as tables: running jobs, those with GPUs first; waiting jobs by class. Pure.
// Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/allocations.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

// The state of each own lease by job: "idle", "busy".
using LeaseStates = std::map<std::uint32_t, std::string>;

struct ClassQueue {
  std::string class_name;
  std::uint32_t jobs = 0, gpus = 0;  // waiting jobs, and the GPUs that they request
  std::int64_t oldest_s = 0;         // unix: the submit time of the longest waiting job
  std::map<std::string, std::uint32_t> reasons;  // Slurm's words
};

// True: the job only claims to be a lease of pounce. Its user can write the comment that says so; for own leases this
// machine's daemon knows it.
bool is_said(const AllocatedJob& job, const LeaseStates& states);

std::vector<AllocatedJob> by_weight(std::vector<AllocatedJob> jobs);  // running jobs: most GPUs first, then the longest
std::vector<ClassQueue> queues_of(const std::vector<AllocatedJob>& jobs);
std::string gpus_in_words(const std::map<std::string, std::uint32_t>& gpus);  // "2 a100, 1 a100_3g.20gb"

std::vector<Cells> held_cells(const std::vector<AllocatedJob>& jobs, const LeaseStates& states, std::int64_t now_s);
std::vector<Cells> queue_cells(const std::vector<ClassQueue>& queues, std::int64_t now_s);

}  // namespace pounce::ctl
