// SPDX-License-Identifier: GPL-3.0-or-later
// How a job ended that slurmctld has forgotten (MinJobAge): slurmdbd's record. Thread: main.
#pragma once

#include "pounce/job.h"

namespace pounce::slurm {

// Ended with JobEnd::kGone when accounting cannot tell either: the job is not there any more, that much is known.
JobView final_state(const Incarnation& job);

}  // namespace pounce::slurm
