// How many leases a pool wants, by the work that waits.
#include <gtest/gtest.h>

#include "core/task/pools.h"

namespace pounce::task {
namespace {

using namespace std::chrono_literals;

// Sixteen at most, one of which works; a lease takes two seconds to arrive.
PoolView working(std::uint64_t waiting, Duration task) {
  return {.most = 16, .held = 1, .waiting = waiting, .working = true, .task = task, .start = 2s};
}

TEST(PoolSizeTest, ABacklogOfASecondStartsNoSecondLease) { EXPECT_EQ(leases_wanted(working(20, 50ms)), 1u); }

TEST(PoolSizeTest, ABacklogOfTenMinutesFillsThePool) { EXPECT_EQ(leases_wanted(working(12'000, 50ms)), 16u); }

TEST(PoolSizeTest, EachFurtherLeaseFindsAsMuchWorkAsItsStartTook) {
  EXPECT_EQ(leases_wanted(working(200, 50ms)),
            5u);  // ten seconds of work: two are done when they arrive, and two for each of four
  EXPECT_EQ(leases_wanted(working(79, 50ms)), 1u);
  EXPECT_EQ(leases_wanted(working(80, 50ms)), 2u);
}

TEST(PoolSizeTest, WhatIsAskedForAlreadyIsCountedOnce) {
  PoolView pool = working(200, 50ms);
  pool.coming = 4;
  EXPECT_EQ(leases_wanted(pool), 5u);
}

TEST(PoolSizeTest, ALeaseThatTakesLongToArriveIsAskedForByLongWorkAlone) {
  PoolView pool = working(12'000, 50ms);
  pool.start = 10min;
  EXPECT_EQ(leases_wanted(pool), 1u);
}

TEST(PoolSizeTest, NoLeaseIsWantedThatWouldFindNoTask) { EXPECT_EQ(leases_wanted(working(3, 10min)), 4u); }

TEST(PoolSizeTest, WhatIsComingForNobodyIsWantedNoMore) {
  PoolView pool = working(1, 1s);
  pool.coming = 5;
  EXPECT_EQ(leases_wanted(pool), 2u);
}

TEST(PoolSizeTest, ALeaseOfSeveralWorkersDoesSoManyTasksAtATime) {
  PoolView pool = working(200, 50ms);
  pool.workers_each = 4;
  EXPECT_EQ(leases_wanted(pool), 1u);  // eight seconds of worker time pass until another is there
  pool.waiting = 400;
  EXPECT_EQ(leases_wanted(pool), 2u);
}

TEST(PoolSizeTest, TheFirstTaskOfUnknownLengthStartsOneLease) {
  EXPECT_EQ(leases_wanted({.most = 16, .waiting = 10'000, .start = 2s}), 1u);
}

TEST(PoolSizeTest, TheLeastAreWantedWhileThereIsWorkAndNoneAfterwards) {
  PoolView pool{.least = 3, .most = 16, .waiting = 1, .start = 2s};
  EXPECT_EQ(leases_wanted(pool), 3u);
  pool.waiting = 0;
  pool.working = true;
  EXPECT_EQ(leases_wanted(pool), 3u);
  pool.working = false;
  EXPECT_EQ(leases_wanted(pool), 0u);
}

TEST(TaskTimesTest, OneTaskAloneSaysNothing) {
  TaskTimes times;
  times.add(8s);
  EXPECT_EQ(times.usual(), 0s);
}

TEST(TaskTimesTest, OfTheFirstFewTheShortestCounts) {
  TaskTimes times;
  for (const auto taken : {800ms, 3ms, 60ms}) times.add(taken);
  EXPECT_EQ(times.usual(), 3ms);
}

TEST(TaskTimesTest, OneThatWasHeldUpIsNoNewsOfTheOthers) {
  TaskTimes times;
  for (int i = 0; i < 4; ++i) times.add(8ms);
  times.add(10s);
  EXPECT_EQ(times.usual(), 9ms);
}

TEST(TaskTimesTest, AfterwardsItFollowsWhatIsSeen) {
  TaskTimes times;
  for (int i = 0; i < 4; ++i) times.add(8s);
  times.add(16s);
  EXPECT_EQ(times.usual(), 9s);
}

}  // namespace
}  // namespace pounce::task
