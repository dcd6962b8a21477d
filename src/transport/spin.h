// poll(2) that spins for some microseconds before it sleeps while calls follow each other: a wake-up costs more than
// the call (docs/performance.md). It spins only where each end has a processor. After several spins in vain it sleeps
// at once, until something comes soon after the last again. Thread: the one that polls.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/clock.h"

namespace pounce::transport {

class Spin {
 public:
  static constexpr std::chrono::microseconds kLongest{150};  // twice the wake-up time of a virtual machine
  static constexpr int kMostInVain = 8;

  // As ppoll without a signal mask.
  int poll(pollfd* items, std::size_t count, const timespec& limit);
  std::uint64_t looks() const { return looks_; }  // polls made while spinning so far

 private:
  int look(pollfd* items, std::size_t count, TimePoint until);

  bool hot_ = false;
  int in_vain_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace pounce::transport
