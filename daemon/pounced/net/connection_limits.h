// How many connections from elsewhere pounced holds, and how many requests a second it takes, so that an untrusted
// peer takes neither its memory nor its last descriptor nor its time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace pounce::daemon {

// So many a second, with a reserve for bursts. Time comes as an argument. Thread: the owner's.

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

// Pure. Thread: any.

struct ListenerBounds {
  std::size_t connections = 0;           // at a time; others wait in the kernel's queue
  std::size_t newcomers = 0;             // of these, the young ones: they may be untrusted peers
  std::chrono::milliseconds newcomer{};  // how long one is a newcomer: libzmq cuts an untrusted peer by then
  bool stays = false;                    // whether it stays afterwards; else it is cut
};

// The bytes that a newcomer may send. A hello with its handshake needs a third; libzmq keeps all of an unfinished
// message.
inline constexpr std::size_t kNewcomerBytes = 32 * 1024;

// descriptors: this process's limit.
ListenerBounds handshake_bounds(std::size_t descriptors);
ListenerBounds control_bounds(std::size_t descriptors);

}  // namespace pounce::daemon
