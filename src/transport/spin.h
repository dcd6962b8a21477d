// poll(2) that looks again and again for some microseconds before it sleeps, while calls follow each other: to be woken costs
// more than the call (docs/performance.md). Only where there is a processor for each end, and never for long: where looking
// was in vain several times in a row, it sleeps at once until something comes soon after the last again.
// Thread: the one that polls.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/clock.h"

namespace pounce::transport {

class Spin {
 public:
  static constexpr std::chrono::microseconds kLongest{150};  // twice a wake-up of a virtual machine
  static constexpr int kMostInVain = 8;

  // As ppoll without a signal mask.
  int poll(pollfd* items, std::size_t count, const timespec& limit);
  std::uint64_t looks() const { return looks_; }  // instead of sleeping, so far

 private:
  int look(pollfd* items, std::size_t count, TimePoint until);

  bool hot_ = false;
  int in_vain_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace pounce::transport
