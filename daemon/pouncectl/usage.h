// What was held and how much of it computed: this user's own records, and the table. Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "pouncectl/output.h"

namespace pounce::ctl {

// What this user's own leases held, from the records that pounced keeps in its state folders: all that is known where
// Slurm has no accounting. Blocking (reads files).
std::vector<UsedShare> own_usage(const std::string& cluster, std::int64_t from_s, std::int64_t to_s);

// The share of one line of a record, within the span.
UsedShare share_of(const std::string& line, const std::string& user, std::int64_t from_s, std::int64_t to_s);

// What was held and what was done with it, in the groups that the user requests. Pure. Thread: any.

// by: any of "class", "user", "mode", in column order. Most GPU time first.
std::vector<UsedShare> grouped(const std::vector<UsedShare>& shares, const std::vector<std::string>& by);
std::vector<Cells> usage_cells(const std::vector<UsedShare>& shares, const std::vector<std::string>& by);
// "pounce leased 3.3 GPU hours: 61 % computing, 39 % warm but idle"; empty if pounce leased none.
std::string idle_line(const std::vector<UsedShare>& shares);

}  // namespace pounce::ctl
