// Whether the devices that a process sees are those that it was given, and each rank's its own. Pure.
#pragma once

#include <string>
#include <vector>

#include "pounce/result.h"

namespace pounce::device {

// UUIDs, in any order. Where they differ nothing may run: a program would use what Slurm gave to somebody else.
Result<void> only_leased(const std::vector<std::string>& visible, const std::vector<std::string>& leased);

// By rank: the UUID of the device that it uses.
Result<void> one_rank_each(const std::vector<std::string>& of_ranks);

}  // namespace pounce::device
