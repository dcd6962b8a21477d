// SPDX-License-Identifier: GPL-3.0-or-later
// Submitting one lease as a batch job, and cancelling one. Thread: main.
#pragma once

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<Incarnation> submit(const JobSpec& spec);
Result<void> cancel(const Incarnation& job);  // a job that is gone counts as cancelled

}  // namespace pounce::slurm
