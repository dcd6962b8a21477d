// What the core has counted since it began, for status documents and tests. Plain data. Thread: any.
#pragma once

#include <cstdint>

namespace pounce::lease {

struct Counters {
  std::uint64_t events = 0, ignored = 0, submits = 0, polls = 0, snapshots = 0, reconciles = 0, cancels = 0;
};

}  // namespace pounce::lease
