// SPDX-License-Identifier: GPL-3.0-or-later
// What the cluster tells about itself, and which libslurm tells it. Thread: main.
#pragma once

#include <string>

#include "pounce/cluster.h"
#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<ClusterFacts> read_facts();
std::string loaded_libslurm();  // "/usr/lib/…/libslurm.so.38 (22.05.8)"
// kVersionMismatch when the libslurm loaded is of another major than the headers of this build.
Result<void> check_libslurm();
// Names what would have worked: the classes there are, the user concerned, what was asked for.
Error explained(Error error, const Resources& asked);

}  // namespace pounce::slurm
