// The use of this user's own leases, from the records in pounced's state folders: the only source where Slurm has no
// accounting. Blocking (reads files). Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/allocations.h"

namespace pounce::ctl {

std::vector<UsedShare> own_usage(const std::string& cluster, std::int64_t from_s, std::int64_t to_s);

// The share of one line of a record, within the span.
UsedShare share_of(const std::string& line, const std::string& user, std::int64_t from_s, std::int64_t to_s);

}  // namespace pounce::ctl
