// SPDX-License-Identifier: GPL-3.0-or-later
// Explains a refusal of Slurm's, whose words are short and name no alternative. Thread: main.
#pragma once

#include "pounce/error.h"
#include "pounce/job.h"

namespace pounce::slurm {

// Adds the alternatives (classes, accounts, reservations), the user and the request.
Error explained(Error error, const JobSpec& spec);

}  // namespace pounce::slurm
