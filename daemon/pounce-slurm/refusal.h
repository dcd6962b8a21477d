// SPDX-License-Identifier: GPL-3.0-or-later
// What stands behind a refusal of Slurm's: its own words are short, and name nothing that would have worked. Thread: main.
#pragma once

#include "pounce/error.h"
#include "pounce/job.h"

namespace pounce::slurm {

// Adds what there is instead: classes, accounts, reservations; and who asked for what.
Error explained(Error error, const JobSpec& spec);

}  // namespace pounce::slurm
