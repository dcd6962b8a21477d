// A pool's leases as one row: the number of its workers and nodes, and why the other workers wait. Pure.
// Thread: any.
#pragma once

#include <string>
#include <vector>

#include "pouncectl/lease_row.h"

namespace pounce::ctl {

struct PoolRow {
  Resources resources;
  std::vector<LeaseRow> leases;
};

bool is_pool(const LeaseRow& row);
// Every pool of every notebook, in the order of their first leases.
std::vector<PoolRow> pool_rows(const std::vector<LeaseRow>& rows);
// "7 of 16 workers, 3 nodes, 5 wait: the class runs 7 of your jobs".
std::string line_of(const PoolRow& pool);

}  // namespace pounce::ctl
