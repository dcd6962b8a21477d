// Time is an argument: it may stand still or go back, and no deadline is left behind.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class TimeTest : public LeaseTest {};

TEST_F(TimeTest, AClockThatGoesBackChangesNothing) {
  given_idle();
  const TimePoint deadline = core.next_deadline();
  now -= 500s;
  tell(TimePassed{});
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(core.next_deadline(), deadline);
}

TEST_F(TimeTest, TimeAloneTwiceDoesNothingTwice) {
  given_idle();
  advance_alive(61s);
  tell(TimePassed{});
  EXPECT_TRUE(actions.empty());
}

TEST_F(TimeTest, ThereIsAlwaysADeadlineWhileALeaseLives) {
  given_queued();
  EXPECT_NE(core.next_deadline(), TimePoint::max());
}

TEST_F(TimeTest, TheSameEventsGiveTheSameActions) {
  const auto run = [this] {
    int made = 0;
    LeaseCore one(our_instance(), defaults, [&made] { return lease(++made); });
    std::vector<std::size_t> kinds;
    const auto feed = [&](const Event& event, std::chrono::seconds at) {
      for (const Action& action : one.handle(event, TimePoint{} + at)) kinds.push_back(action.index());
    };
    feed(JournalRead{}, 1s);
    feed(ReconcileDone{std::vector<JobView>{}}, 1s);
    for (int who = 9; who > 0; --who) feed(DemandChanged{session(who), {{RequestId{1}, one_gpu(), 1, 0, {}}}}, 2s);
    feed(TimePassed{}, 100s);
    return kinds;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace pounce::lease
