// How many leases a pool wants: a decision from the work that waits, how long its tasks take, and how long a lease takes to
// arrive. Pure. Thread: any.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace pounce::task {

struct PoolView {
  std::uint32_t least = 0, most = 1;  // leases
  std::uint32_t held = 0, coming = 0;  // leases with a worker, and those that are asked for
  std::uint32_t workers_each = 1;      // of one lease
  std::uint64_t waiting = 0;           // tasks that no worker has
  bool working = false;                // or some that one has
  Duration task{};                     // one of them takes about so long, as far as is known
  Duration start{};                    // a lease takes so long to arrive
};

// Between `least` and `most` while there is work, else 0. A further lease is worth its start where it will find as much work as
// its start took: a second of short tasks is spread over nobody who arrives too late, ten minutes of them over all that may be.
std::uint32_t leases_wanted(const PoolView& pool);

}  // namespace pounce::task
