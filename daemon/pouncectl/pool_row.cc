#include "pouncectl/pool_row.h"

#include <algorithm>
#include <set>

namespace pounce::ctl {
namespace {

// The reason of the first waiting lease that has one.
std::string why_they_wait(const std::vector<const LeaseRow*>& waiting) {
  const auto said = std::ranges::find_if(waiting, [](const LeaseRow* row) { return !why(*row).empty(); });
  return said == waiting.end() ? "" : ": " + why(**said);
}

}  // namespace

bool is_pool(const LeaseRow& row) { return row.resources.is_pool(); }

std::vector<PoolRow> pool_rows(const std::vector<LeaseRow>& rows) {
  std::vector<PoolRow> pools;
  for (const LeaseRow& row : rows) {
    if (!is_pool(row)) continue;
    const auto its_pool = std::ranges::find_if(pools, [&](const PoolRow& pool) {
      return pool.leases.front().session == row.session && pool.resources == row.resources;
    });
    if (its_pool != pools.end())
      its_pool->leases.push_back(row);
    else
      pools.push_back({row.resources, {row}});
  }
  return pools;
}

std::string line_of(const PoolRow& pool) {
  std::size_t ready = 0;
  std::set<std::string> nodes;
  std::vector<const LeaseRow*> waiting;
  for (const LeaseRow& row : pool.leases) {
    ready += row.workers_ready;
    if (row.workers_ready > 0 && !row.node.empty()) nodes.insert(row.node);
    if (row.workers_ready == 0 && row.waiting > 0) waiting.push_back(&row);
  }
  std::string line = std::to_string(ready) + " of " + counted(pool.resources.leases_most * pool.resources.workers, "worker");
  if (!nodes.empty()) line += ", " + counted(nodes.size(), "node");
  if (!waiting.empty()) line += ", " + std::to_string(waiting.size()) + (waiting.size() == 1 ? " waits" : " wait") + why_they_wait(waiting);
  return line;
}

}  // namespace pounce::ctl
