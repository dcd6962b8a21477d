// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that there is a Slurm here, and that libslurm survives reading its configuration.
// Thread: main, before any other request.
#pragma once

#include "pounce/result.h"

namespace pounce::slurm {

// Looks for slurm.conf before libslurm does: a missing one would block libslurm for 60 s and end this process
// (gotchas S1). A broken one ends the process at once, so a forked child tries it first. May be called again after a
// failure.
Result<void> start_libslurm();

}  // namespace pounce::slurm
