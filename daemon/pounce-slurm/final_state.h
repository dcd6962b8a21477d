// SPDX-License-Identifier: GPL-3.0-or-later
// Facts of a job's end that only slurmdbd records: how a job ended that slurmctld has forgotten (MinJobAge), and
// which user cancelled one. A forked child with a time limit queries them: a hung or restarted slurmdbd costs the
// answer, not this process. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"

namespace pounce::slurm {

// One view per job, in order; JobEnd::kGone if accounting cannot tell how the job ended.
std::vector<JobView> final_states(const std::vector<JobIdentity>& jobs);

// A slurmd that cannot start a job cancels it as root (gotchas S23), which looks like a user's cancellation.
// `unheard`: jobs that never reported. Such a job that root cancelled on its node becomes JobEnd::kNotStarted.
void tell_not_started(std::vector<JobView>& views, const std::vector<SlurmJobId>& unheard);

}  // namespace pounce::slurm
