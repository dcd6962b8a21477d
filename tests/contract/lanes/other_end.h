// One end of a road in a process of its own, stopped or killed when something large is on its way between the two.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "contract/lanes/other_process.h"
#include "contract/lanes/world.h"

namespace pounce::lanes {

constexpr std::size_t kOnItsWay = 128 * kMiB + 3, kMiddle = 8 * kMiB;

class OtherEnd : protected OtherProcess {
 protected:
  using OtherProcess::OtherProcess;
  virtual void turn_here() = 0;

  void until(const std::function<bool()>& condition, int asked_in_line = __builtin_LINE()) {
    const TimePoint deadline = Clock::now() + 100s;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "asked in line " << asked_in_line << ": it does not come true";
      turn_here();
    }
  }
  // As far as either end can tell.
  std::uint64_t moved() const { return std::max({carried_bytes(), object_memory(), object_memory(pid())}); }
  void stop_in_the_middle() {
    until([&] { return moved() > kMiddle; });
    stop();
    ASSERT_LT(moved(), kOnItsWay) << "the middle is over";
  }
  void go_on_alone() {
    for (int i = 0; i < 100; ++i) turn_here();
  }
  void expect_nothing_left(std::size_t most_descriptors) {
    until(
        [&] { return connections().empty() && object_memory() == 0 && open_descriptors().size() <= most_descriptors; });
  }

  std::shared_ptr<const Source> source = Source::marked(kOnItsWay, 1);  // the other end has one of its own
};

}  // namespace pounce::lanes
