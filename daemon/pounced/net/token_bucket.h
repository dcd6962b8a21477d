// A rate limit with a reserve for bursts. The caller passes the time. Thread: the owner's.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace pounce::daemon {

class TokenBucket {
 public:
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), level_(burst) {}

  bool take(TimePoint now) {
    const std::chrono::duration<double> passed = now - last_;
    if (passed.count() > 0) level_ = std::min(burst_, level_ + passed.count() * per_second_);
    last_ = std::max(last_, now);
    if (level_ < 1) return false;
    level_ -= 1;
    return true;
  }

 private:
  const double per_second_, burst_;
  double level_;
  TimePoint last_{};
};

}  // namespace pounce::daemon
