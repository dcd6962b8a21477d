// Virtual time and chance: one queue of things to happen, one seeded generator. The same seed is the same life.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "base/clock.h"

namespace pounce::policy_simulator {

using namespace std::chrono_literals;
using Millis = std::chrono::milliseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t word() { return engine_(); }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(word() % bound); }
  // Of a million, so that no floating point decides.
  bool chance(std::uint32_t per_million) { return below(1'000'000) < per_million; }
  Millis between(Millis least, Millis most) {
    return least + Millis(below(static_cast<std::uint32_t>((most - least).count() + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

class Timeline {
 public:
  TimePoint now() const { return now_; }

  void at(TimePoint when, std::function<void()> happen) {
    queue_.emplace(std::pair(std::max(when, now_), ++sequence_), std::move(happen));
  }
  void in(Duration wait, std::function<void()> happen) { at(now_ + wait, std::move(happen)); }

  // False when there is nothing left before `end`.
  bool step(TimePoint end) {
    if (queue_.empty() || queue_.begin()->first.first > end) {
      now_ = end;
      return false;
    }
    auto first = queue_.extract(queue_.begin());
    now_ = first.key().first;
    first.mapped()();
    return true;
  }

 private:
  TimePoint now_ = TimePoint{} + 1000s;
  std::uint64_t sequence_ = 0;
  std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> queue_;
};

}  // namespace pounce::policy_simulator
