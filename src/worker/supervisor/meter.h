// What the job has used since it began: time with a task and without one, CPU time and memory of all processes below
// the supervisor. Memory is looked at, not counted: a peak between two looks is seen only where one process had it.
// Thread: loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace pounce::worker {

struct Used {
  std::chrono::milliseconds busy{0}, idle{0}, cpu{0};
  std::uint64_t memory_mib = 0;  // most at any look
};

class Meter {
 public:
  explicit Meter(TimePoint now) : since_(now) {}

  void set_busy(bool busy, TimePoint now);
  void look(pid_t root, TimePoint now);  // at the processes below it; costs a read of /proc, so not twice in a second
  Used used(TimePoint now) const;

 private:
  TimePoint since_, next_look_{};
  bool busy_ = false;
  Used used_;
};

// Of one process, from the texts of its /proc files. Pure.
std::chrono::milliseconds cpu_time(const char* stat, long ticks_per_second);  // its own and its children's that ended
struct Memory {
  std::uint64_t now_kib = 0, peak_kib = 0;
};
Memory memory(const char* status);

}  // namespace pounce::worker
