// SPDX-License-Identifier: GPL-3.0-or-later
// Turns options of sbatch that users may pass on into fields of a job's description. The policy decides which of them
// a site allows. Thread: main.
#pragma once

#include <map>
#include <string>

#include "pounce/result.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// The description points into `options`, which must live as long. kBadRequest: an unknown option or value.
Result<void> apply_sbatch_options(std::map<std::string, std::string>& options, job_desc_msg_t& message);

}  // namespace pounce::slurm
