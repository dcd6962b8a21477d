// Every process that descends from this one: to signal them all, and what they have used since the job began.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace pounce::worker {

// The supervisor is their reaper (PR_SET_CHILD_SUBREAPER): those that fork twice and those that make their own session
// stay below it. Thread: any.
std::vector<pid_t> descendants_of(pid_t root);
// Sends `signal` to all of them and returns their number. Call it until it returns 0, since new ones may start
// meanwhile.
std::size_t signal_descendants(pid_t root, int signal);

// What the job has used: time with a task and without one, CPU time and memory of all processes below the supervisor.
// Memory is looked at, not counted: a peak between two looks is seen only where one process had it. Thread: loop.
struct Used {
  std::chrono::milliseconds busy{0}, idle{0}, cpu{0};
  std::uint64_t memory_mib = 0;  // the largest sample
  std::uint64_t memory_now_mib = 0;
  std::uint32_t cpu_percent = 0;  // between the last two looks; 100: one CPU
};

class Meter {
 public:
  explicit Meter(TimePoint now) : since_(now) {}

  void set_busy(bool busy, TimePoint now);
  void look(pid_t root, TimePoint now);  // samples the processes below root; reads /proc, so at most once a second
  Used used(TimePoint now) const;

 private:
  TimePoint since_;
  std::optional<TimePoint> last_look_;
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
