// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the limit that a queued job waits for. Thread: main.
#pragma once

#include <cstdint>
#include <string>

#include "associations.h"
#include "job/slurm_reason.h"
#include "pounce/job.h"

namespace pounce::slurm {

// What a job asks for, as Slurm counts it.
struct Asked {
  std::string class_name, account, tres;  // "cpu=2,mem=500M,node=1,gres/gpu=1"
  std::uint64_t minutes = 0;
};

// Empty where Slurm hides it, or where none of the limits it shows is exceeded by this job.
LimitUse limit_use(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const Asked& asked);

// "mem" of "cpu=2,mem=1.5G" is 1536 (MiB); 0: not in it.
std::uint64_t tres_count(const std::string& tres, const std::string& name);

}  // namespace pounce::slurm
