// SPDX-License-Identifier: GPL-3.0-or-later
// Details of queued jobs beside Slurm's reason: the limit's numbers, the number of jobs ahead. One more read of each
// kind at most, and only if a job waits for that. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// `views` are those of `jobs`, in their order.
void explain_waits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views);

}  // namespace pounce::slurm
