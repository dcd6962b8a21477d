// SPDX-License-Identifier: GPL-3.0-or-later
// Explains a refusal of Slurm's by the job's partition. Thread: main.
#pragma once

#include <optional>
#include <string>

#include "pounce/error.h"
#include "pounce/job.h"
#include "slurm/partition_rules.h"

namespace pounce::slurm {

// The account that the job is charged to: the named one, or the user's default; empty: none.
std::string account_of(const JobSpec& spec);
// The QoS of the job's partition, whose limits apply in addition to those of its class; empty: none.
std::string qos_of_partition(const JobSpec& spec);
// Nothing if the partition is not the cause, or is hidden from this user.
std::optional<Error> refusal_by_partition(Refused about, const JobSpec& spec);

}  // namespace pounce::slurm
