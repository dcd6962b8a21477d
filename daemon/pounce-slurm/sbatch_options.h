// SPDX-License-Identifier: GPL-3.0-or-later
// Turns options of sbatch into fields of a job's description: those that users pass on, as far as the site's policy
// allows, and fields of a request that sbatch has as they are. Thread: main.
#pragma once

#include <map>
#include <string>

#include "pounce/error.h"
#include "pounce/resources.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// `slurm` of a request with its other fields that are options of sbatch. A field wins over the same option; lists of
// nodes to leave out are joined.
std::map<std::string, std::string> sbatch_options(const Resources& resources);

// The description points into `options`, which must live as long. kBadRequest: an unknown option or value.
Result<void> apply_sbatch_options(std::map<std::string, std::string>& options, job_desc_msg_t& message);

}  // namespace pounce::slurm
