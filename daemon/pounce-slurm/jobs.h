// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs: all users' jobs as far as Slurm shows them, one job, and how a job that slurmctld has forgotten ended.
// Thread: main.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/job.h"
#include "pounce-slurm/slurm_compat.h"
#include "pounce/error.h"

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

// Slurm's current record of one job; empty if slurmctld has forgotten it.
Result<std::vector<JobView>> load_one(SlurmJobId job);

// What only slurmdbd's records know of a job's end: how those ended that slurmctld has forgotten (MinJobAge), and which
// user cancelled one. Read in a forked child with a time limit: a hung or restarted slurmdbd costs the answer, not this
// process.

// One view per job, in order; JobEnd::kGone if accounting cannot tell how the job ended.
std::vector<JobView> final_states(const std::vector<JobIdentity>& jobs);

// A slurmd that cannot start a job cancels it as root (gotchas S23), which looks like a user's cancellation.
// `unheard`: jobs that never reported. Such a job that root cancelled on its node becomes JobEnd::kNotStarted.
void tell_not_started(std::vector<JobView>& views, const std::vector<SlurmJobId>& unheard);

}  // namespace pounce::slurm
