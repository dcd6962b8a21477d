// The last things that happened to one lease, for failures and for pouncectl: a ring, so that a lease that lives for
// days does not grow. Thread: loop.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "base/clock.h"

namespace pounce::lease {

struct StoryLine {
  TimePoint when;
  std::string what;
};

class Story {
 public:
  static constexpr std::size_t kLines = 64;

  void add(TimePoint when, std::string what) {
    if (!lines_.empty() && lines_.back().what == what) return;  // the same late news again and again
    if (lines_.size() == kLines) lines_.pop_front();
    lines_.push_back({when, std::move(what)});
  }
  const std::deque<StoryLine>& lines() const { return lines_; }

 private:
  std::deque<StoryLine> lines_;
};

}  // namespace pounce::lease
