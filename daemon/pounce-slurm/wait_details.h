// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of queued jobs beside Slurm's reason: the numbers of the limit, how many jobs go first. One more read
// of each kind at most, and only where a job waits for that. Thread: main.
#pragma once

#include <vector>

#include "pounce/job.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// `views` are those of `message`, in its order.
void explain_waits(const job_info_msg_t& message, std::vector<JobView>& views);

}  // namespace pounce::slurm
