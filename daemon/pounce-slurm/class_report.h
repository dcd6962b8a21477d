// SPDX-License-Identifier: GPL-3.0-or-later
// What this user may use now: the classes with what is used of them, and the cluster's GPUs. Thread: main.
#pragma once

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<ClassReport> class_report();

}  // namespace pounce::slurm
