// A table of use, grouped by the user's choice. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "pounce/allocations.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

// by: any of "class", "user", "mode", in column order. Most GPU time first.
std::vector<UsedShare> grouped(const std::vector<UsedShare>& shares, const std::vector<std::string>& by);
std::vector<Cells> usage_cells(const std::vector<UsedShare>& shares, const std::vector<std::string>& by);
// "pounce leased 3.3 GPU hours: 61 % computing, 39 % warm but idle"; empty if pounce leased none.
std::string idle_line(const std::vector<UsedShare>& shares);

}  // namespace pounce::ctl
