#include <gtest/gtest.h>

#include "worker/supervisor/supervisor.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1h};

TEST(WatchdogTest, EndsAnIdleJobAfterTheShorterTime) {
  EXPECT_EQ(Watchdog(150s, 900s, kStart).deadline(), kStart + 150s);
}

TEST(WatchdogTest, EndsABusyJobAfterTheLongerTime) {
  Watchdog man(150s, 900s, kStart);
  man.set_busy(true);
  EXPECT_EQ(man.deadline(), kStart + 900s);
  man.set_busy(false);
  EXPECT_EQ(man.deadline(), kStart + 150s);
}

TEST(WatchdogTest, EndsAJobWhoseTaskGoesOnWithoutItsUserAfterADay) {
  Watchdog man(150s, 900s, kStart);
  man.set_busy(true, true);
  EXPECT_EQ(man.deadline(), kStart + 24h);
  man.set_busy(false, true);
  EXPECT_EQ(man.deadline(), kStart + 150s);
}

TEST(WatchdogTest, CountsFromTheLastWordOfAnybody) {
  Watchdog man(150s, 900s, kStart);
  man.seen(kStart + 10s);
  man.seen(kStart + 5s);  // an older report that came later
  EXPECT_EQ(man.deadline(), kStart + 160s);
}

}  // namespace
}  // namespace pounce::worker
