// Tells when neither the daemon nor any client has been heard for too long. The job then ends itself, so that a GPU
// is never held for a user who is gone: soon when no task runs, later when one does. Pure. Thread: the owner's.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace pounce::worker {

class Watchdog {
 public:
  Watchdog(std::chrono::seconds idle, std::chrono::seconds busy, TimePoint start)
      : idle_(idle), busy_(busy), last_seen_(start) {}

  void seen(TimePoint when) { last_seen_ = std::max(last_seen_, when); }
  void set_busy(bool busy) { is_busy_ = busy; }
  TimePoint deadline() const { return last_seen_ + (is_busy_ ? busy_ : idle_); }

 private:
  const std::chrono::seconds idle_, busy_;
  TimePoint last_seen_;
  bool is_busy_ = false;
};

}  // namespace pounce::worker
