// Checks that a process sees the devices that it was given, and that each rank has its own. Pure.
#pragma once

#include <string>
#include <vector>

#include "pounce/result.h"

namespace pounce::device {

// UUIDs, in any order. Where they differ nothing may run: a program would use GPUs that Slurm gave to another user.
Result<void> only_leased(const std::vector<std::string>& visible, const std::vector<std::string>& leased);

// By rank: the UUID of the device that it uses.
Result<void> one_rank_each(const std::vector<std::string>& of_ranks);

}  // namespace pounce::device
