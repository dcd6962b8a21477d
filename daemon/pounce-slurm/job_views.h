// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

// Slurm's record of one job now; an empty list when slurmctld has forgotten it.
Result<std::vector<JobView>> load_one(SlurmJobId job);

}  // namespace pounce::slurm
