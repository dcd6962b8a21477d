// SPDX-License-Identifier: GPL-3.0-or-later
// The cluster's GPUs: the total of each type, and the free ones on nodes that take work.
// Thread: main.
#pragma once

#include <vector>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<std::vector<GpuUse>> gpus_of_cluster();

}  // namespace pounce::slurm
