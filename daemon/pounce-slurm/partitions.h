// SPDX-License-Identifier: GPL-3.0-or-later
// What the job's partition has to do with a refusal of Slurm's. Thread: main.
#pragma once

#include <optional>
#include <string>

#include "pounce/error.h"
#include "pounce/job.h"
#include "slurm/partition_rules.h"

namespace pounce::slurm {

// Which the job is charged to: the one named, or the user's own; empty: there is none.
std::string account_of(const JobSpec& spec);
// The QoS of the job's partition, whose limits count beside those of its class; empty: it has none.
std::string qos_of_partition(const JobSpec& spec);
// Nothing where the partition is not the cause, or not shown to this user.
std::optional<Error> refusal_by_partition(Refused about, const JobSpec& spec);

}  // namespace pounce::slurm
