// How long the tasks of one kind take, from those that ended. Values only. Thread: any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace pounce::task {

// The average after one more value. Zero: no value yet.
constexpr Duration averaged(Duration before, Duration next) { return before == Duration{} ? next : before + (next - before) / 8; }

class TaskTimes {
 public:
  // The first tasks load their modules and meet a cold machine: the shortest of a few counts, and one alone says
  // nothing. A later one counts as at most twice the usual time: a busy machine's hiccup says nothing of a thousand
  // tasks.
  void add(Duration taken) {
    ++seen_;
    usual_ = seen_ == 1 ? taken : seen_ <= kFew ? std::min(usual_, taken) : averaged(usual_, std::min(taken, 2 * usual_));
  }
  Duration usual() const { return seen_ < 2 ? Duration{} : usual_; }  // zero: not known

 private:
  static constexpr std::uint32_t kFew = 4;
  std::uint32_t seen_ = 0;
  Duration usual_{};
};

}  // namespace pounce::task
