// SPDX-License-Identifier: GPL-3.0-or-later
// How jobs ended that slurmctld has forgotten (MinJobAge): slurmdbd's records. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"

namespace pounce::slurm {

// One view for each, in order; JobEnd::kGone where accounting cannot tell: that the job is over is known, how is not.
// Asked in a forked child with a time limit: a hung or restarted slurmdbd costs the answer, not this process.
std::vector<JobView> final_states(const std::vector<JobIdentity>& jobs);

}  // namespace pounce::slurm
