// Idle leases are kept warm until somebody waits for what they hold.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

Defaults kept_warm() {
  Defaults times;  // idle_release 60 s, warm_poll 4 s
  times.keep_warm = 300s;
  return times;
}

class WarmthTest : public LeaseTest {
 protected:
  WarmthTest() : LeaseTest(kept_warm()) {}
  void given_warm() {
    given_idle();
    advance_alive(60s);
  }
  void look_at(Result<QueueLook> look) {
    wait_for<LookAtQueue>();
    tell(QueueSeen{std::move(look)});
  }
};

TEST_F(WarmthTest, NobodyLooksAtTheQueueBeforeTheIdleTimeIsOver) {
  given_idle();
  advance_alive(59s);
  EXPECT_EQ(count<LookAtQueue>(), 0u);
  advance_alive(1s);
  ASSERT_EQ(count<LookAtQueue>(), 1u);
  EXPECT_EQ(only<LookAtQueue>()[0].jobs, std::vector{job(7)});
}

TEST_F(WarmthTest, ALeaseIsGivenBackAtOnceWhenSomebodyWaits) {
  given_warm();
  look_at(somebody_waits());
  EXPECT_EQ(state(), LeaseState::kDraining);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_TRUE(only<EndWorker>()[0].only_if_idle);
}

TEST_F(WarmthTest, ItsOwnerIsToldWhy) {
  given_warm();
  look_at(somebody_waits());
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  const Error told = only<TellLeaseEnded>()[0].error;
  EXPECT_EQ(told.text, "Given back: somebody waited for it.");
  EXPECT_EQ(told.context.at("given_back"), "somebody_waits");
}

TEST_F(WarmthTest, ATaskThatHasJustArrivedKeepsIt) {
  given_warm();
  look_at(somebody_waits());
  tell(WorkerHeard{lease(1), WorkerIndex{0}, link, 1});
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WarmthTest, OneThatIsNeededAgainIsNotGiven) {
  given_warm();
  wait_for<LookAtQueue>();
  demand(1);
  tell(QueueSeen{somebody_waits()});
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WarmthTest, NobodyWaitsAndItStaysToTheEndOfItsTime) {
  given_warm();
  std::size_t looks = 0;
  for (int second = 0; second < 299; ++second) {
    if (count<LookAtQueue>() > 0) ++looks, tell(QueueSeen{QueueLook{}});
    advance_alive(1s);
  }
  EXPECT_EQ(state(), LeaseState::kIdle);
  EXPECT_NEAR(static_cast<double>(looks), 299 / 4.0, 2.0);
  advance_alive(1s);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(WarmthTest, ALookThatTakesLongIsMadeHalfAsOftenUntilOneIsFast) {
  given_warm();
  for (const auto& [took, next] : {std::pair{600ms, 8s}, {600ms, 16s}, {600ms, 30s}, {600ms, 30s}, {10ms, 4s}}) {
    wait_for<LookAtQueue>();
    tell(WorkerHeard{lease(1), WorkerIndex{0}, link, 0});
    const TimePoint begun = now;
    now += took;
    tell(QueueSeen{QueueLook{}});
    wait_for<LookAtQueue>();
    EXPECT_EQ(now - begun, next) << took.count();
  }
}

TEST_F(WarmthTest, AFailedLookGivesNothingAway) {
  given_warm();
  look_at(tl::unexpected(trouble(ErrorCode::kSlurmUnreachable)));
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(WarmthTest, WhereLooksKeepFailingItIsWarmForAShortTime) {
  given_warm();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(core.leases()[0].reason, ::testing::Not(::testing::HasSubstr("short time")));
    wait_for<LookAtQueue>();
    tell(WorkerHeard{lease(1), WorkerIndex{0}, link, 0});
    tell(QueueSeen{tl::unexpected(trouble(ErrorCode::kRejected))});
  }
  EXPECT_THAT(core.leases()[0].reason, ::testing::HasSubstr("short time"));
}

TEST_F(WarmthTest, WhereOthersAreHiddenItIsWarmForAShortTime) {
  given_warm();
  look_at(QueueLook{true, {}, {}, {}});
  EXPECT_THAT(core.leases()[0].reason, ::testing::HasSubstr("shows nobody who else waits"));
  advance_alive(59s);
  EXPECT_EQ(state(), LeaseState::kIdle);
  EXPECT_EQ(count<LookAtQueue>(), 0u);
  advance_alive(1s);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

class StartsTest : public LeaseTest {
 protected:
  static Defaults two_an_hour() {
    Defaults times = without_warmth();
    times.starts_per_hour = 2;
    return times;
  }
  StartsTest() : LeaseTest(two_an_hour()) {}
  void want(int who) {
    open(who);
    demand(1, 0, one_gpu(), who);
  }
};

TEST_F(StartsTest, OneMoreThanTheHourAllowsWaitsAndIsToldSince) {
  start();
  want(1), want(2);
  const TimePoint first = now;
  advance(10s);
  want(3);
  EXPECT_EQ(state(3), LeaseState::kWanted);
  ASSERT_GE(count<TellStatus>(), 1u);
  EXPECT_THAT(only<TellStatus>().back().reason, ::testing::HasSubstr("2 leases an hour"));
  EXPECT_EQ(only<TellStatus>().back().not_before, first + 1h);
}

TEST_F(StartsTest, ItStartsWhenTheHourIsOver) {
  start();
  want(1), want(2), want(3);
  for (int minute = 0; minute < 60; ++minute) {
    advance(20s), tell(SessionHeard{session(3)});
    advance(20s), tell(SessionHeard{session(3)});
    EXPECT_EQ(state(3), LeaseState::kWanted);
    advance(20s), tell(SessionHeard{session(3)});
  }
  EXPECT_EQ(state(3), LeaseState::kSubmitting);
}

TEST_F(StartsTest, ThoseWhoWaitAreToldTimesInTheirOrder) {
  start();
  want(1);
  advance(10s);
  want(2);
  const TimePoint second = now;
  advance(10s);
  want(3);
  want(4);
  EXPECT_EQ(only<TellStatus>().back().not_before, second + 1h);
}

TEST_F(StartsTest, OneThatIsLookedAtBeforeThoseAheadOfItWaitsForThem) {
  int id = 100;  // the youngest comes first in the books
  LeaseCore downwards(our_instance(), two_an_hour(), [&] { return lease(id--); });
  downwards.handle(JournalRead{{}}, now);
  downwards.handle(SessionOpened{session(1)}, now);
  std::vector<Want> wants;
  for (std::uint32_t number = 1; number <= 4; ++number) {
    wants.push_back({WantId{number}, resources("cheetah", number), 1, 0, {}});
    downwards.handle(DemandChanged{session(1), wants}, now + number * 1s);
  }

  const auto acts = downwards.handle(Swept{{}}, now + 5s);  // until then nobody starts

  EXPECT_EQ(std::ranges::count_if(acts, [](const Action& act) { return std::holds_alternative<SubmitJob>(act); }), 2);
}

TEST_F(StartsTest, OneThatHoldsOffForAReasonOfItsOwnIsNotInTheWay) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});  // by somebody: no other one during a minute
  ASSERT_EQ(state(2), LeaseState::kWanted);
  want(2);
  EXPECT_EQ(state(3), LeaseState::kSubmitting);
}

TEST_F(StartsTest, WithoutACapAllStartAtOnce) {
  LeaseWorld free(without_warmth());
  free.start();
  for (int who = 1; who <= 50; ++who) {
    free.open(who);
    free.demand(1, 0, one_gpu(), who);
    EXPECT_EQ(free.state(who), LeaseState::kSubmitting);
  }
}

}  // namespace
}  // namespace pounce::lease
