// How far a worker's steady clock is ahead of ours, from beats: the answer of the quickest round trip is the best one,
// since half of it bounds the error. Forgets slowly, because clocks drift. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <limits>

namespace pounce::client {

class ClockOffset {
 public:
  void measured(std::int64_t asked_ns, std::int64_t answered_ns, std::int64_t their_clock_ns) {
    const std::int64_t round_trip = answered_ns - asked_ns;
    if (round_trip < 0 || round_trip > allowed_round_trip_) {
      allowed_round_trip_ += allowed_round_trip_ / 8;  // none so quick for long: a later one counts again
      return;
    }
    allowed_round_trip_ = round_trip;
    ahead_ns_ = their_clock_ns - (asked_ns + round_trip / 2);
  }
  std::int64_t to_ours(std::int64_t theirs_ns) const { return theirs_ns - ahead_ns_; }

 private:
  std::int64_t allowed_round_trip_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t ahead_ns_ = 0;
};

}  // namespace pounce::client
