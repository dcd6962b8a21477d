// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps learned run times in a file of at most a hundred kilobytes, since this program may end at any moment. Only a
// hint: without it a forecast starts with no knowledge. Thread: main.
#pragma once

#include "core/forecast/runs.h"

namespace pounce::slurm {

forecast::Runs read_runs();  // from the file of POUNCE_RUNS; empty if there is none
void write_runs(const forecast::Runs& runs);

}  // namespace pounce::slurm
