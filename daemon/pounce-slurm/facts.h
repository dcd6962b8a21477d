// SPDX-License-Identifier: GPL-3.0-or-later
// What the cluster tells about itself, and which libslurm tells it. Thread: main.
#pragma once

#include <string>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<ClusterFacts> read_facts();
// kRefusesRoot for SlurmUser, who has power over every user's jobs.
Result<void> check_user();
// "/usr/lib/…/libslurm.so.38 (API 38.0.0, built for 22.05.8)": the file from which calls are really answered.
std::string loaded_libslurm();
// kVersionMismatch when the libslurm loaded is of another major than the headers of this build.
Result<void> check_libslurm();

}  // namespace pounce::slurm
