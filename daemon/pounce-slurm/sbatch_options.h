// SPDX-License-Identifier: GPL-3.0-or-later
// Options of sbatch that people may pass on, as fields of a job's description. Which of them a site allows, the policy
// says; this knows what they mean. Thread: main.
#pragma once

#include <map>
#include <string>

#include "pounce/result.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// The description points into `options`, which must live as long. kBadRequest: no such option, or no such value.
Result<void> apply_sbatch_options(std::map<std::string, std::string>& options, job_desc_msg_t& message);

}  // namespace pounce::slurm
