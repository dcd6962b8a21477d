// Measures the job's use since it began: time with a task and without one, CPU time and memory of all processes below
// the supervisor. Memory is sampled, so a peak between two samples is seen only where one process had it. Thread:
// loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace pounce::worker {

struct Used {
  std::chrono::milliseconds busy{0}, idle{0}, cpu{0};
  std::uint64_t memory_mib = 0;  // the largest sample
};

class Meter {
 public:
  explicit Meter(TimePoint now) : since_(now) {}

  void set_busy(bool busy, TimePoint now);
  void look(pid_t root, TimePoint now);  // samples the processes below root; reads /proc, so at most once a second
  Used used(TimePoint now) const;

 private:
  TimePoint since_, next_look_{};
  bool busy_ = false;
  Used used_;
};

// These read the texts of one process's /proc files. cpu_time: its own, and that of its children that ended. Pure.
std::chrono::milliseconds cpu_time(const char* stat, long ticks_per_second);
struct Memory {
  std::uint64_t now_kib = 0, peak_kib = 0;
};
Memory memory(const char* status);

}  // namespace pounce::worker
