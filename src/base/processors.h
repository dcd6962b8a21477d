// The number of processors this process may run on: a job has fewer than its machine. Thread: any.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>

namespace pounce {

inline std::size_t processors() {
  cpu_set_t ours;
  return ::sched_getaffinity(0, sizeof ours, &ours) == 0 ? std::max<std::size_t>(CPU_COUNT(&ours), 1) : 1;
}

}  // namespace pounce
