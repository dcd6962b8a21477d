// Time and chance of one life, so that the same bytes are the same life: while one is lived, every clock of this
// process is moved by hand, and the kernel's random bytes are counted. What the daemon links calls the C library for
// both; this program defines those functions before it. Thread: the test's.
#pragma once

#include <chrono>

namespace pounce::daemon_fuzzer {

class MovedClock {
 public:
  MovedClock();   // from now on
  ~MovedClock();  // the true clocks again
  MovedClock(const MovedClock&) = delete;
  MovedClock& operator=(const MovedClock&) = delete;

  void pass(std::chrono::nanoseconds time);
};

}  // namespace pounce::daemon_fuzzer
