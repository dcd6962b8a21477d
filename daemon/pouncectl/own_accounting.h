// What this user's own leases held, from the records that pounced keeps in its state folders: all that is known where
// Slurm has no accounting. Blocking (reads files). Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/allocations.h"

namespace pounce::ctl {

std::vector<UsedShare> own_usage(const std::string& cluster, std::int64_t from_s, std::int64_t to_s);

// Of one line of such a record; within the span.
UsedShare share_of(const std::string& line, const std::string& user, std::int64_t from_s, std::int64_t to_s);

}  // namespace pounce::ctl
