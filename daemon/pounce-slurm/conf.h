// SPDX-License-Identifier: GPL-3.0-or-later
// Is there a Slurm here at all, does libslurm survive reading its configuration?
// Thread: main, before any other request.
#pragma once

#include "pounce/result.h"

namespace pounce::slurm {

// Looks itself before libslurm does: a missing slurm.conf would block it for 60 s and end this process (gotchas
// S1). A broken one ends the process at once, so a forked child tries it first. May be called again after a failure.
Result<void> start_libslurm();

}  // namespace pounce::slurm
