// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs: by id, by tag, of this user. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<std::vector<JobView>> poll_jobs(const std::vector<Incarnation>& wanted);
Result<std::vector<JobView>> jobs_with_tag(const InstanceId* instance);  // nullptr: any instance of this user
// Slurm's record of one job now; an empty list when slurmctld has forgotten it.
Result<std::vector<JobView>> load_one(SlurmJobId job);

}  // namespace pounce::slurm
