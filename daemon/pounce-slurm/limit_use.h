// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the limit for which a queued job waits. Thread: main.
#pragma once

#include <cstdint>
#include <string>

#include "associations.h"
#include "job/slurm_reason.h"
#include "pounce/job.h"

namespace pounce::slurm {

// A job's request, as Slurm counts it.
struct JobRequest {
  std::string class_name, account, tres;  // "cpu=2,mem=500M,node=1,gres/gpu=1"
  std::uint64_t minutes = 0;
};

// Empty if Slurm hides the limit, or if this job exceeds none of the visible limits.
LimitUse limit_use(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request);

// "mem" of "cpu=2,mem=1.5G" is 1536 (MiB); 0: not in it.
std::uint64_t tres_count(const std::string& tres, const std::string& name);

}  // namespace pounce::slurm
