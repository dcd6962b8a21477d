// SPDX-License-Identifier: GPL-3.0-or-later
// What stands behind a refusal: Slurm's own words are short, and name nothing that would have worked. Thread: main.
#pragma once

#include <optional>
#include <string>

#include "model/job.h"
#include "pounce/error.h"
#include "slurm/partition.h"

namespace pounce::slurm {

// What the job's partition has to do with a refusal of Slurm's.

// The account that the job is charged to: the named one, or the user's default; empty: none.
std::string account_of(const JobSpec& spec);
// The QoS of the job's partition, whose limits apply in addition to those of its class; empty: none.
std::string qos_of_partition(const JobSpec& spec);
// Nothing if the partition is not the cause, or is hidden from this user.
std::optional<Error> refusal_by_partition(Refused about, const JobSpec& spec);

// A refusal of Slurm's, explained.
// Adds the alternatives (classes, accounts, reservations), the user and the request. slurm_code: Slurm's number of the
// refusal; 0: it is ours.
Error explained(Error error, int slurm_code, const JobSpec& spec);

// A refusal of ours: an account that is not the user's. Slurm refuses it only where it enforces associations; elsewhere
// it takes the job, and charges it silently to the user's default account.
// For a user without any account, refuses only an account that does not exist. Without slurmdbd an account is just a
// label.
Result<void> check_account(const JobSpec& spec);

}  // namespace pounce::slurm
