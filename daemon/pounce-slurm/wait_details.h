// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of queued jobs beside Slurm's reason: the numbers of the limit, how many jobs go first. Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/slurm_reason.h"
#include "model/job.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/slurm_compat.h"

namespace pounce::slurm {

// The numbers of the limit that a queued job waits for.

// A job's request, as Slurm counts it.
struct JobRequest {
  std::string class_name, account, tres;  // "cpu=2,mem=500M,node=1,gres/gpu=1"
  std::uint64_t minutes = 0;
};

// Empty if Slurm hides the limit, or if this job exceeds none of the visible limits.
LimitUse limit_use(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request);

// "mem" of "cpu=2,mem=1.5G" is 1536 (MiB); 0: not in it.
std::uint64_t tres_count(const std::string& tres, const std::string& name);

// One more read of each kind at most, and only where a job waits for that.
// `views` are those of `jobs`, in their order.
void explain_waits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views);

}  // namespace pounce::slurm
