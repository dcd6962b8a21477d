// How many leases this site lets one daemon ask for in an hour. Owns the submissions of the last hour, where they are
// counted. Those who have waited longest go first: the n-th in line starts when n starts are older than an hour, so each
// can be told when. Thread: loop.
#pragma once

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace pounce::lease {

class StartRate {
 public:
  void started(TimePoint now) { starts_.push_back(now); }
  // When one may start who has `before` others before it in line; not later than now: at once.
  TimePoint next(TimePoint now, std::size_t an_hour, std::size_t before);

 private:
  std::deque<TimePoint> starts_;
};

}  // namespace pounce::lease
