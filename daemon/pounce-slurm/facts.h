// SPDX-License-Identifier: GPL-3.0-or-later
// The Slurm of this machine: whether it is there and libslurm survives it, which libslurm answers, and what the cluster
// says about itself. Thread: main.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "pounce/error.h"

namespace pounce::slurm {

// Is there a Slurm here at all, and does libslurm survive reading its configuration? Before any other request.
// Looks for slurm.conf before libslurm does: a missing one would block libslurm for 60 s and end this process
// (gotchas S1). A broken one ends the process at once, so a forked child tries it first. May be called again after a
// failure.
Result<void> start_libslurm();

// What the cluster says about itself, and which libslurm says it.

// The part of slurmctld's configuration that decides whether the rules of QoS are enforced.
struct Site {
  std::string cluster, accounting_type, accounting_tres, preempt_type;
  std::uint16_t accounting_enforce = 0;
  uid_t slurm_user = 0;
  std::vector<std::string> partitions;
};
Result<Site> read_site();

// kRefusesRoot for SlurmUser, who has power over every user's jobs.
Result<void> check_user();
// True if other users' jobs are hidden from this user (PrivateData).
bool jobs_are_private();
// "/usr/lib/…/libslurm.so.38 (API 38.0.0, built for 22.05.8)": the file that really answers calls.
std::string loaded_libslurm();
// kVersionMismatch if the loaded libslurm has another major version than this build's headers.
Result<void> check_libslurm();

}  // namespace pounce::slurm
