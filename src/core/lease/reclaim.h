// Would what an idle warm lease holds help somebody who waits? Pure and total: a request that is not understood helps
// nobody or takes one lease too many, and never breaks anything. Thread: any.
#pragma once

#include <string_view>
#include <vector>

#include "pounce/queue_snapshot.h"

namespace pounce::lease {

// May that job run there at all, whatever is free: partition, nodes named or excluded, features.
bool may_run_on(const RoomAsked& asked, const NodeRoom& node);

// Slurm's expression of features, "a&b|c", "[r1|r2]", "a*2": one alternative must be there whole.
bool has_features(std::string_view expression, const std::vector<std::string>& features);

// The fewest of `warm` (the first are given back first) with which those who wait get room on their nodes, beside what is
// free there and what `leaving` will set free. One who waits for more than all of that together gets nothing.
std::vector<SlurmJobId> to_reclaim(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm,
                                     const std::vector<SlurmJobId>& leaving);

}  // namespace pounce::lease
