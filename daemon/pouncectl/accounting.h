// This user's own leases as rows of accounting. Thread: main.
#pragma once

#include <optional>
#include <string>

#include "model/accounting.h"

namespace pounce::ctl {

// The job of one line of pounced's record of ended leases: all that is known of the past where Slurm has no accounting.
// Empty for a line that is none, or of a lease that held nothing.
std::optional<AccountedJob> job_of(const std::string& line, const std::string& user);

}  // namespace pounce::ctl
