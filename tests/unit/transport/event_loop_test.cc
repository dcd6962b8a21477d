// The loop's promises to its callbacks: order of timers, removal while it runs, descriptors.
#include "transport/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <vector>

#include "base/unique_fd.h"

namespace pounce::transport {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct EventLoopTest : testing::Test {
  EventLoop loop;
  std::vector<int> ran;
  const UniqueFd bell{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

  void ring() const { ::eventfd_write(bell.get(), 1); }
};

TEST_F(EventLoopTest, RunsTimersInTheOrderOfTheirTimes) {
  const TimePoint now = Clock::now();
  loop.at(now + 2ms, [&] { ran.push_back(2); });
  loop.at(now + 3ms, [&] { loop.stop(); });
  loop.at(now, [&] { ran.push_back(1); });

  loop.run();

  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, ATimerMaySetTheNextOne) {
  loop.at(Clock::now(), [&] {
    ran.push_back(1);
    loop.at(Clock::now(), [&] {
      ran.push_back(2);
      loop.stop();
    });
  });

  loop.run();

  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, ACancelledTimerNeverRuns) {
  const auto cancelled = loop.at(Clock::now(), [&] { ran.push_back(1); });
  loop.at(Clock::now(), [&] { loop.stop(); });

  loop.unwatch(cancelled);
  loop.run();

  EXPECT_THAT(ran, ElementsAre());
}

TEST_F(EventLoopTest, CallsWhoWatchesAReadableDescriptor) {
  loop.watch_fd(bell.get(), [&] {
    ran.push_back(1);
    loop.stop();
  });
  ring();

  loop.run();

  EXPECT_THAT(ran, ElementsAre(1));
}

TEST_F(EventLoopTest, AWatchMayEndItselfWhileItRuns) {
  EventLoop::WatchId watch = 0;
  watch = loop.watch_fd(bell.get(), [&, note = std::vector<int>(1000, 7)] {
    loop.unwatch(watch);
    ran.push_back(note[999]);  // what the callback owns lives until it returns
    loop.at(Clock::now(), [&] { loop.stop(); });
  });
  ring();

  loop.run();

  EXPECT_THAT(ran, ElementsAre(7));
}

TEST_F(EventLoopTest, AWatchRemovedByAnotherOfTheSameTurnIsNotCalled) {
  const UniqueFd other(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
  EventLoop::WatchId second = 0;
  loop.watch_fd(bell.get(), [&] {
    loop.unwatch(second);
    loop.stop();
  });
  second = loop.watch_fd(other.get(), [&] { ran.push_back(2); });
  ring();

  loop.run();

  EXPECT_THAT(ran, ElementsAre());
}

}  // namespace
}  // namespace pounce::transport
