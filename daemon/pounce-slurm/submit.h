// SPDX-License-Identifier: GPL-3.0-or-later
// Submitting one lease as a batch job, cancelling one, and telling in its comment what became of it. Thread: main.
#pragma once

#include <string>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<Incarnation> submit(const JobSpec& spec);
Result<void> cancel(const Incarnation& job);  // a job that is gone counts as cancelled

// The job's comment from now on.
Result<void> note(const Incarnation& job, const std::string& comment);

}  // namespace pounce::slurm
