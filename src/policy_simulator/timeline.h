// Virtual time and chance: one queue of events, one seeded generator. Equal seeds give equal runs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace pounce::policy_simulator {

using namespace std::chrono_literals;
using Millis = std::chrono::milliseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t word() { return engine_(); }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(word() % bound); }
  // Per million, to avoid floating point.
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
    queue_.push_back({std::max(when, now_), ++sequence_, std::move(happen)});
    std::push_heap(queue_.begin(), queue_.end());
  }
  void in(Duration wait, std::function<void()> happen) { at(now_ + wait, std::move(happen)); }

  // False if nothing is left before `end`.
  bool step(TimePoint end) {
    if (queue_.empty() || queue_.front().when > end) {
      now_ = end;
      return false;
    }
    std::pop_heap(queue_.begin(), queue_.end());
    const auto happen = std::move(queue_.back().happen);
    now_ = queue_.back().when;
    queue_.pop_back();
    happen();
    return true;
  }

 private:
  struct Entry {
    TimePoint when;
    std::uint64_t sequence;
    std::function<void()> happen;
    // The heap's top is the earliest entry.
    bool operator<(const Entry& other) const {
      return std::pair(when, sequence) > std::pair(other.when, other.sequence);
    }
  };

  TimePoint now_ = TimePoint{} + 1000s;
  std::uint64_t sequence_ = 0;
  std::vector<Entry> queue_;  // a heap
};

}  // namespace pounce::policy_simulator
