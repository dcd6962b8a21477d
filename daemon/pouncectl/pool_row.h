// The leases of one pool as one row: how many of its workers are there, on how many nodes, and why the others are not. Pure.
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
// Of each notebook each pool, in the order of their first leases.
std::vector<PoolRow> pool_rows(const std::vector<LeaseRow>& rows);
// "7 of 16 workers, 3 nodes, 5 wait: the class runs 7 of your jobs".
std::string line_of(const PoolRow& pool);

}  // namespace pounce::ctl
