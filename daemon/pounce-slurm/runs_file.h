// SPDX-License-Identifier: GPL-3.0-or-later
// What was learned of how long jobs run, in a file of a hundred kilobytes at most: this program may end at any moment. A hint;
// without it a forecast begins with not knowing. Thread: main.
#pragma once

#include "core/forecast/runs.h"

namespace pounce::slurm {

forecast::Runs read_runs();  // of the file that POUNCE_RUNS names; empty where there is none
void write_runs(const forecast::Runs& runs);

}  // namespace pounce::slurm
