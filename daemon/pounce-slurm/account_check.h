// SPDX-License-Identifier: GPL-3.0-or-later
// An account that is not the user's. Slurm refuses it only where it enforces associations; elsewhere it takes the job, and
// charges it to the user's default account without a word. Thread: main.
#pragma once

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

// Of a user who has none at all only one that exists nowhere; without slurmdbd an account is a label that Slurm writes down.
Result<void> check_account(const JobSpec& spec);

}  // namespace pounce::slurm
