// SPDX-License-Identifier: GPL-3.0-or-later
// This user's classes with their use, and the cluster's GPUs. Thread: main.
#pragma once

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<ClassReport> class_report();

}  // namespace pounce::slurm
