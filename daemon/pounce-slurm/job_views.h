// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

// Slurm's current record of one job; empty if slurmctld has forgotten it.
Result<std::vector<JobView>> load_one(SlurmJobId job);

}  // namespace pounce::slurm
