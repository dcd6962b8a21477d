// SPDX-License-Identifier: GPL-3.0-or-later
// What only slurmdbd's records tell of a job's end: how those ended that slurmctld has forgotten (MinJobAge), and who
// cancelled one. Asked in a forked child with a time limit: a hung or restarted slurmdbd costs the answer, not this
// process. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"

namespace pounce::slurm {

// One view for each, in order; JobEnd::kGone where accounting cannot tell: that the job is over is known, how is not.
std::vector<JobView> final_states(const std::vector<JobIdentity>& jobs);

// A slurmd that cannot start a job cancels it as root (gotchas S23), which looks as if somebody had done so. Of these jobs
// nothing was ever heard: one that root cancelled on its node becomes JobEnd::kNotStarted.
void tell_not_started(std::vector<JobView>& views, const std::vector<SlurmJobId>& unheard);

}  // namespace pounce::slurm
