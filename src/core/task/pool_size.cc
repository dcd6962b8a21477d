#include "core/task/pool_size.h"

#include <algorithm>
#include <cmath>

namespace pounce::task {
namespace {

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::uint64_t whole(double count) { return count < 1 ? 0 : static_cast<std::uint64_t>(std::min(count, 1e6)); }

// The work that is left when the next lease arrives, counted in leases that work on it for as long as their start
// took. The leases that are there, and those that come earlier, work on it meanwhile.
std::uint64_t worth(const PoolView& pool) {
  const double start = seconds(pool.start) * pool.workers_each;
  return whole(seconds(pool.task) * static_cast<double>(pool.waiting) / start - pool.held - pool.coming);
}

// So many that each finds at least one task.
std::uint64_t useful(const PoolView& pool) { return (pool.waiting + pool.workers_each - 1) / pool.workers_each; }

// The same for the tasks that the present workers leave.
std::uint64_t useful_when_they_come(const PoolView& pool) {
  if (pool.task == Duration{}) return useful(pool);
  const double taken = std::floor(seconds(pool.start) / seconds(pool.task) * pool.held);
  return whole(static_cast<double>(useful(pool)) - taken);
}

}  // namespace

std::uint32_t leases_wanted(const PoolView& pool) {
  const std::uint32_t least = std::min(pool.least, pool.most);
  if (pool.waiting == 0) return pool.working ? least : 0;
  // A lease that would find no task does not count.
  const std::uint64_t coming = std::min<std::uint64_t>(pool.coming, useful(pool));
  const std::uint64_t more = std::min(pool.coming + worth(pool), useful_when_they_come(pool));
  const std::uint64_t wanted = pool.held + std::max(coming, more);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, std::max(least, 1u), std::max(pool.most, 1u)));
}

}  // namespace pounce::task
