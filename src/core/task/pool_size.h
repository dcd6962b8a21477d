// How many leases a pool wants: decided by the waiting work, by how long its tasks take, and by how long a lease
// takes to arrive. Pure. Thread: any.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace pounce::task {

struct PoolView {
  std::uint32_t least = 0, most = 1;  // leases
  std::uint32_t held = 0, coming = 0;  // leases with a worker, and requested ones
  std::uint32_t workers_each = 1;      // of one lease
  std::uint64_t waiting = 0;           // tasks that no worker has
  bool working = false;                // a worker has tasks
  Duration task{};                     // about how long a task takes; zero: not known
  Duration start{};                    // how long a lease takes to arrive
};

// Between `least` and `most` while there is work, else 0. A further lease is worth its start if it will find as much
// work as its start took. A second of short tasks wants no lease that would arrive too late; ten minutes of them want
// all that the pool may have.
std::uint32_t leases_wanted(const PoolView& pool);

}  // namespace pounce::task
