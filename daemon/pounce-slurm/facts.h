// SPDX-License-Identifier: GPL-3.0-or-later
// What the cluster tells about itself, and which libslurm tells it. Thread: main.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

// What of slurmctld's configuration decides whether the rules of QoS count.
struct Site {
  std::string cluster, accounting_type, accounting_tres, preempt_type;
  std::uint16_t accounting_enforce = 0;
  uid_t slurm_user = 0;
  std::vector<std::string> partitions;
};
Result<Site> read_site();

// kRefusesRoot for SlurmUser, who has power over every user's jobs.
Result<void> check_user();
// Other users' jobs are not shown to this user (PrivateData).
bool jobs_are_private();
// "/usr/lib/…/libslurm.so.38 (API 38.0.0, built for 22.05.8)": the file from which calls are really answered.
std::string loaded_libslurm();
// kVersionMismatch when the libslurm loaded is of another major than the headers of this build.
Result<void> check_libslurm();

}  // namespace pounce::slurm
