// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs: by id, by tag, of this user. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

// One view for each, those that slurmctld has forgotten last.
Result<std::vector<JobView>> poll_jobs(const std::vector<Incarnation>& wanted);
// All that slurmctld still shows with the tag of this instance, ended ones too.
Result<std::vector<JobView>> jobs_of_instance(const InstanceId& instance);
// What squeue would show of this user's jobs that carry a tag of any instance.
Result<std::vector<JobView>> queue_of_user();
// Slurm's record of one job now; an empty list when slurmctld has forgotten it.
Result<std::vector<JobView>> load_one(SlurmJobId job);

}  // namespace pounce::slurm
