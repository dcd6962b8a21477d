// How far a worker's steady clock is ahead of ours, measured by beats. The quickest round trip gives the best
// estimate, since half of it bounds the error. It is forgotten slowly, because clocks drift. Thread: the leader
// token's holder.
#pragma once

#include <cstdint>
#include <limits>

namespace pounce::client {

class ClockOffset {
 public:
  void measured(std::int64_t sent_ns, std::int64_t answered_ns, std::int64_t their_clock_ns) {
    const std::int64_t round_trip = answered_ns - sent_ns;
    if (round_trip < 0 || round_trip > allowed_round_trip_) {
      allowed_round_trip_ += allowed_round_trip_ / 8;  // no trip was so quick for long: a slower one counts again
      return;
    }
    allowed_round_trip_ = round_trip;
    ahead_ns_ = their_clock_ns - (sent_ns + round_trip / 2);
  }
  std::int64_t to_ours(std::int64_t theirs_ns) const { return theirs_ns - ahead_ns_; }

 private:
  std::int64_t allowed_round_trip_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t ahead_ns_ = 0;
};

}  // namespace pounce::client
