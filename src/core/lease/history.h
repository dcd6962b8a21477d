// The last things that happened to one lease, for failures and for pouncectl: a ring, so that a lease that lives for
// days does not grow. Thread: loop.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "base/clock.h"
#include "core/lease/state.h"
#include "pounce/cause.h"

namespace pounce::lease {

struct HistoryLine {
  TimePoint when;
  Cause why{};
  LeaseState from{}, to{};  // the same: something happened in this state
  bool operator==(const HistoryLine&) const = default;
};

class History {
 public:
  static constexpr std::size_t kLines = 64;

  void add(TimePoint when, Cause why) { add({when, std::move(why)}); }
  void add(TimePoint when, CauseCode why) { add({when, Cause{why}}); }
  void enter(TimePoint when, LeaseState from, LeaseState to, Cause why) { add({when, std::move(why), from, to}); }
  const std::deque<HistoryLine>& lines() const { return lines_; }

 private:
  void add(HistoryLine line) {
    if (!lines_.empty()) {
      HistoryLine last = lines_.back();
      last.when = line.when;
      if (last == line) return;  // the same late news again and again
    }
    if (lines_.size() == kLines) lines_.pop_front();
    lines_.push_back(std::move(line));
  }

  std::deque<HistoryLine> lines_;
};

}  // namespace pounce::lease
