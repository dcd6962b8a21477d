// SPDX-License-Identifier: GPL-3.0-or-later
// When a queued job is expected to start. Thread: main.
#pragma once

#include <vector>

#include "core/forecast/cluster_state.h"
#include "pounce/eta.h"
#include "pounce/job.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// Not known where it waits for something that has no time of its own: a user, a repair, another limit than those at a time.
Eta eta_of(const slurm_job_info_t& job, const JobView& view);
// The same for all of them, in a second at most: those that are left out keep what was said of them last.
void expect_starts(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views);
// Of one more job like this, behind all that wait now; its priority is not known.
Eta eta_of_another(forecast::AnyJob job);

}  // namespace pounce::slurm
