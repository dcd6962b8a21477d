// SPDX-License-Identifier: GPL-3.0-or-later
// Expected starts of queued jobs. Thread: main.
#pragma once

#include <vector>

#include "core/forecast/cluster_state.h"
#include "pounce/eta.h"
#include "pounce/job.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// Unknown if the job waits for something without a time: a user, a repair, a limit other than on what is used at
// once.
Eta eta_of(const slurm_job_info_t& job, const JobView& view);
// The same for all jobs, in a second at most: those not reached keep their last estimate.
void expect_starts(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views);
// For another job like this behind all that wait now, since its priority is unknown.
Eta eta_of_another(forecast::AnyJob job);

}  // namespace pounce::slurm
