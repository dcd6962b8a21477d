// SPDX-License-Identifier: GPL-3.0-or-later
// All users' jobs, as far as Slurm shows them. Thread: main.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "pounce/result.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// Returns freed memory to the system: reading a long queue takes 100 MB in pieces that the allocator would keep.
struct FreeJobs {
  void operator()(job_info_msg_t* message) const;
};
using Jobs = std::unique_ptr<job_info_msg_t, FreeJobs>;

Result<Jobs> load_all_jobs(std::uint16_t flags = 0);  // SHOW_DETAIL: with each node's GPUs

std::string user_of(const slurm_job_info_t& job);

// The GPUs of a request: 22.05 writes "gres:gpu:a100:2", later releases "gres/gpu:a100=2".
std::map<std::string, std::uint32_t> gpus_asked(std::string tres);

}  // namespace pounce::slurm
