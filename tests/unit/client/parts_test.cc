// The engine's small parts on their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/calls.h"
#include "client/daemon_session.h"
#include "client/objects.h"
#include "client/worker_link.h"
#include "client/worker_objects.h"
#include "client/worker_tasks.h"

namespace pounce::client {

using testing::ElementsAre;
using testing::IsEmpty;

ObjectId object(std::size_t number) {
  return ObjectId({static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8)});
}
constexpr auto kNothingNeeded = [](const ObjectId&) { return false; };

TEST(ClockOffsetTest, TheQuickestRoundTripCounts) {
  ClockOffset clock;
  clock.measured(1000, 1200, 51'100);  // 50'000 ahead, round trip 200
  clock.measured(2000, 4000, 52'900);  // slower, and lopsided
  EXPECT_EQ(clock.to_ours(51'100), 1100);
}

TEST(ClockOffsetTest, AfterALongTimeWithoutAQuickOneALaterOneCounts) {
  ClockOffset clock;
  clock.measured(0, 200, 100);
  for (int i = 0; i < 100; ++i) clock.measured(0, 1000, 7500);
  EXPECT_EQ(clock.to_ours(7500), 500);
}

TEST(HeldObjectsTest, TheLeastRecentlyUsedGoFirstAndWhatIsNeededStays) {
  ObjectsAtWorker held;
  for (std::uint8_t n = 1; n <= 4; ++n) {
    held.sent(object(n), 100);
    held.confirm(object(n));
  }
  held.used(object(1));
  const auto dropped = held.drop_over(200, [](const ObjectId& id) { return id == object(2); });
  EXPECT_THAT(dropped, ElementsAre(object(3), object(4)));
  EXPECT_TRUE(held.contains(object(1)));
}

TEST(HeldObjectsTest, WhatLiesOnADeviceGoesAtOnceWhenNobodyNeedsIt) {
  ObjectsAtWorker held;
  held.sent(object(1), 100);
  for (std::uint8_t n = 2; n <= 4; ++n) held.sent(object(n), 100, true);
  for (std::uint8_t n = 1; n <= 3; ++n) held.confirm(object(n));

  EXPECT_THAT(held.drop_over(1000, [](const ObjectId& id) { return id == object(2); }), ElementsAre(object(3)));

  held.let_go(object(2));
  held.confirm(object(4));
  EXPECT_THAT(held.drop_over(1000, kNothingNeeded), testing::UnorderedElementsAre(object(2), object(4)));
  EXPECT_EQ(held.bytes(), 100u);
}

TEST(HeldObjectsTest, NothingGoesWithinTheBudget) {
  ObjectsAtWorker held;
  held.sent(object(1), 100);
  held.confirm(object(1));
  EXPECT_THAT(held.drop_over(100, kNothingNeeded), IsEmpty());
}

ObjectsAtWorker holding(std::size_t many, std::uint64_t bytes) {
  ObjectsAtWorker held;
  for (std::size_t n = 0; n < many; ++n) {
    held.sent(object(n), bytes);
    held.confirm(object(n));
  }
  return held;
}

// A look at all of them whenever one goes would be fifty million.
TEST(HeldObjectsTest, OfTenThousandThatAreNeededBeyondTheBudgetEachIsLookedAtTwiceBeforeAllAreGone) {
  constexpr std::size_t kMany = 10'000;
  ObjectsAtWorker held = holding(kMany, 1000);
  std::size_t looks = 0, dropped = 0;
  std::vector<bool> gone(kMany);
  const auto needed = [&](const ObjectId& id) {
    ++looks;
    return !gone[id.bytes()[0] + 256u * id.bytes()[1]];
  };

  for (std::size_t n = kMany; n-- > 0;) {
    gone[n] = true;
    held.let_go(object(n));
    dropped += held.drop_over(0, needed).size();
  }

  EXPECT_EQ(dropped, kMany);
  EXPECT_EQ(held.bytes(), 0u);
  EXPECT_LE(looks, 2 * kMany);
}

TEST(HeldObjectsTest, OfManyThatGoAtOnceSomeAreNamedAtATimeUntilAllAreGone) {
  ObjectsAtWorker held = holding(2 * ObjectsAtWorker::kMostDropped + 1, 1);
  EXPECT_EQ(held.drop_over(0, kNothingNeeded).size(), ObjectsAtWorker::kMostDropped);
  EXPECT_EQ(held.drop_over(0, kNothingNeeded).size(), ObjectsAtWorker::kMostDropped);
  EXPECT_EQ(held.drop_over(0, kNothingNeeded).size(), 1u);
}

TEST(HeldObjectsTest, WhatWasLetGoOnItsWayGoesOnceItIsThere) {
  ObjectsAtWorker held;
  held.sent(object(1), 100);
  held.let_go(object(1));
  EXPECT_THAT(held.drop_over(0, kNothingNeeded), IsEmpty());
  held.confirm(object(1));
  EXPECT_THAT(held.drop_over(0, kNothingNeeded), ElementsAre(object(1)));
}

TEST(HeldObjectsTest, WhatIsNeededOnceMoreWhenItIsDueStaysUntilItIsLetGoAgain) {
  ObjectsAtWorker held;
  held.sent(object(1), 100);
  held.confirm(object(1));
  EXPECT_THAT(held.drop_over(0, [](const ObjectId&) { return true; }), IsEmpty());
  held.used(object(1));
  EXPECT_THAT(held.drop_over(0, kNothingNeeded), IsEmpty());
  held.let_go(object(1));
  EXPECT_THAT(held.drop_over(0, kNothingNeeded), ElementsAre(object(1)));
}

TEST(HeldObjectsTest, WhatWasOnItsWayWhenTheConnectionBrokeIsSentAgain) {
  ObjectsAtWorker held;
  held.sent(object(1), 100);
  held.sent(object(2), 100);
  held.confirm(object(2));
  held.forget_unconfirmed();
  EXPECT_FALSE(held.contains(object(1)));
  EXPECT_TRUE(held.contains(object(2)));
}

FunctionId function(std::uint8_t number) { return FunctionId({number}); }
TaskId task_of(std::uint8_t number) { return TaskId({number}); }

TEST(HeldFunctionsTest, AHundredLargeOnesLeaveNoMoreBytesThanTheBudget) {
  FunctionsAtWorker held;
  std::size_t dropped = 0;
  for (std::uint8_t n = 1; n <= 100; ++n) {
    EXPECT_TRUE(held.needs(function(n), 1'000'000, task_of(n)));
    held.ended(task_of(n));
    dropped += held.drop_over(10'000'000).size();
  }
  EXPECT_EQ(held.bytes(), 10'000'000u);
  EXPECT_EQ(dropped, 90u);
}

TEST(HeldFunctionsTest, WhatWasDroppedIsSentAgainAndWhatIsThereIsNot) {
  FunctionsAtWorker held;
  held.needs(function(1), 100, task_of(1));
  held.ended(task_of(1));
  EXPECT_FALSE(held.needs(function(1), 100, task_of(2)));
  held.ended(task_of(2));
  EXPECT_THAT(held.drop_over(50), ElementsAre(function(1)));
  EXPECT_TRUE(held.needs(function(1), 100, task_of(3)));
}

TEST(HeldFunctionsTest, WhatATaskStillNeedsStaysHoweverLargeItIs) {
  FunctionsAtWorker held;
  for (std::uint8_t n = 1; n <= 3; ++n) held.needs(function(n), 100, task_of(n));
  held.needs(function(2), 100, task_of(4));
  held.ended(task_of(2));
  EXPECT_THAT(held.drop_over(0), IsEmpty());
  held.ended(task_of(4));
  EXPECT_THAT(held.drop_over(0), ElementsAre(function(2)));
}

TEST(HeldFunctionsTest, TheLeastRecentlyNeededGoFirst) {
  FunctionsAtWorker held;
  for (std::uint8_t n = 1; n <= 3; ++n) {
    held.needs(function(n), 100, task_of(n));
    held.ended(task_of(n));
  }
  held.needs(function(1), 100, task_of(4));
  held.ended(task_of(4));
  EXPECT_THAT(held.drop_over(100), ElementsAre(function(2), function(3)));
}

TEST(HeldFunctionsTest, ATaskThatIsSentTwiceNeedsItsFunctionOnce) {
  FunctionsAtWorker held;
  held.needs(function(1), 100, task_of(1));
  held.needs(function(1), 100, task_of(1));
  held.ended(task_of(1));
  held.ended(task_of(1));
  EXPECT_THAT(held.drop_over(0), ElementsAre(function(1)));
}

TEST(MemoryTest, AnObjectsDigestDependsOnHowItsBytesAreSplit) {
  const std::vector<Bytes> one = {own_bytes("ab"), own_bytes("c")}, other = {own_bytes("a"), own_bytes("bc")};
  EXPECT_NE(digest_object(own_bytes("p"), one), digest_object(own_bytes("p"), other));
  EXPECT_EQ(digest_object(own_bytes("p"), one), digest_object(own_bytes("p"), one));
}

TEST(LeaseCacheTest, TheErrorOfALeaseNamesItAndItsJob) {
  LeaseCache cache;
  protocol::LeaseStatus status;
  status.lease = LeaseId({1});
  status.job = 7;
  cache.update(status, 10);
  using Words = std::map<std::string, std::string>;
  EXPECT_EQ(cache.with_evidence({}, LeaseId({1})).context, (Words{{"lease", LeaseId({1}).hex()}, {"job", "7"}}));
  EXPECT_EQ(cache.with_evidence({}, LeaseId({2})).context, (Words{{"lease", LeaseId({2}).hex()}}));
}

TEST(LeaseCacheTest, AJobStartedWhenItWasFirstSaidToRun) {
  LeaseCache cache;
  protocol::LeaseStatus status;
  status.lease = LeaseId({1});
  status.state = "queued";
  cache.update(status, 10);
  EXPECT_EQ(cache.started_ns(status.lease), 0);
  status.state = "starting";
  cache.update(status, 20);
  status.state = "idle";
  cache.update(status, 30);
  EXPECT_EQ(cache.started_ns(status.lease), 20);
}

TEST(EventQueueTest, TheNotifierIsWokenOnlyForWhatNobodyDrained) {
  EventQueue events;
  events.enter();
  events.push(Told{"one"});
  EXPECT_EQ(events.drain().size(), 1u);
  events.leave();
  events.push(Told{"two"});
  EXPECT_TRUE(events.wait()) << "readable: nobody was on the way";
  EXPECT_EQ(events.drain().size(), 1u);
  events.close();
  EXPECT_FALSE(events.wait());
}

TEST(EventQueueTest, OutputThatNobodyReadsIsDroppedAndSaysSo) {
  EventQueue events;
  const std::string mebibyte(1024 * 1024, 'x');
  for (int i = 0; i < 200; ++i) events.push(Printed{TaskId{}, false, mebibyte});
  const auto kept = events.drain();
  EXPECT_LT(kept.size(), 70u);
  EXPECT_NE(std::get<Printed>(kept.back()).text.find("dropped"), std::string::npos);
}

TEST(EventQueueTest, BuffersOfMessagesThatNobodyReadsCountToo) {
  EventQueue events;
  const std::string mebibyte(1024 * 1024, 'x');
  for (int i = 0; i < 200; ++i) events.push(Printed{TaskId{}, false, "{}", true, {mebibyte}});
  const auto kept = events.drain();
  EXPECT_LT(kept.size(), 70u);
  EXPECT_FALSE(std::get<Printed>(kept.back()).message) << "the notice is text";
}

}  // namespace pounce::client
