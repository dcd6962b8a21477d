// SPDX-License-Identifier: GPL-3.0-or-later
// Refuses an account that is not the user's. Slurm itself does so only if it enforces associations; otherwise it
// accepts the job and silently charges the user's default account. Thread: main.
#pragma once

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

// For a user without any account, refuses only an account that does not exist. Without slurmdbd an account is just a
// label.
Result<void> check_account(const JobSpec& spec);

}  // namespace pounce::slurm
