// Idle leases are kept until somebody waits for what they hold: one that would lose variables at least for its usual
// time.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

Defaults kept_warm() {
  Defaults times;  // idle_release 60 s, warm_poll 4 s
  times.keep_warm = 300s;
  return times;
}

class IdleReuseTest : public LeaseTest {
 protected:
  IdleReuseTest() : LeaseTest(kept_warm()) {}
  void given_idle_reuse() {  // past the usual time, which one that would lose variables has
    variables = NamespaceState::kUnsaved;
    given_idle();
    advance_alive(60s);
  }
  void look_at(Result<QueueSnapshot> look) {
    wait_for<TakeQueueSnapshot>();
    tell(QueueSnapshotTaken{std::move(look)});
  }
};

TEST_F(IdleReuseTest, NobodyLooksAtTheQueueForAWorkerThatWouldLoseVariablesBeforeTheIdleTimeIsOver) {
  variables = NamespaceState::kUnsaved;
  given_idle();
  advance_alive(59s);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 0u);
  advance_alive(1s);
  ASSERT_EQ(count<TakeQueueSnapshot>(), 1u);
  EXPECT_EQ(only<TakeQueueSnapshot>()[0].jobs, std::vector{job(7)});
}

TEST_F(IdleReuseTest, ALeaseIsGivenBackAtOnceWhenSomebodyWaits) {
  given_idle_reuse();
  look_at(somebody_waits());
  EXPECT_EQ(state(), LeaseState::kDraining);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_TRUE(only<EndWorker>()[0].only_if_idle);
}

TEST_F(IdleReuseTest, ItsOwnerIsToldWhy) {
  given_idle_reuse();
  look_at(somebody_waits());
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  const Error told = only<TellLeaseEnded>()[0].error;
  EXPECT_EQ(told.cause.code, CauseCode::kOtherJobWaits);
  EXPECT_EQ(told.cause.number, 1u) << "GPU, of which the next call tells its user";
}

TEST_F(IdleReuseTest, ATaskThatHasJustArrivedKeepsIt) {
  given_idle_reuse();
  look_at(somebody_waits());
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(IdleReuseTest, OneWhoseVariablesAreSavedIsGivenFromItsFirstIdleSecond) {
  given_idle();
  beat();
  advance(999ms);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 0u);
  advance(1ms);
  look_at(somebody_waits());
  EXPECT_EQ(state(), LeaseState::kDraining);
  EXPECT_TRUE(only<EndWorker>()[0].only_if_idle);
}

TEST_F(IdleReuseTest, OneWhoseWorkerHasNotSpokenYetHasTheUsualTime) {
  given_idle();
  advance(10s);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 0u);
}

TEST_F(IdleReuseTest, OneThatWouldLoseVariablesIsNotGivenInItsUsualTime) {
  given_idle();
  beat();
  advance(1s);
  wait_for<TakeQueueSnapshot>();
  variables = NamespaceState::kUnsaved;
  beat();
  tell(QueueSnapshotTaken{somebody_waits()});
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(IdleReuseTest, OneThatSavesIsBusyAndIdleFromThenOn) {
  given_idle();
  variables = NamespaceState::kSaving;
  advance_alive(3s, 1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  variables = NamespaceState::kSaved;
  beat(0);
  EXPECT_EQ(state(), LeaseState::kIdle);
  advance(999ms);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 0u);
  advance(1ms);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 1u);
}

TEST_F(IdleReuseTest, WhatTheNextInterpreterHasIsSaved) {
  given_idle();
  variables = NamespaceState::kUnsaved;
  beat();
  tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{1}, trouble(ErrorCode::kWorkerCrashed)});
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  variables = NamespaceState::kSaved;
  beat();
  advance(1s);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 1u);
}

TEST_F(IdleReuseTest, NobodyLooksAtTheQueueWhileItIsBusy) {
  given_busy();
  advance_alive(120s, 1);
  EXPECT_EQ(core.counters().snapshots, 0u);
}

TEST_F(IdleReuseTest, WhereOthersAreHiddenNobodyLooksInTheUsualTime) {
  given_idle();
  beat();
  advance(1s);
  look_at(QueueSnapshot{true, {}, {}, {}});
  const auto looks = core.counters().snapshots;
  advance_alive(58s);
  EXPECT_EQ(core.counters().snapshots, looks);
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(IdleReuseTest, OneThatIsNeededAgainIsNotGiven) {
  given_idle_reuse();
  wait_for<TakeQueueSnapshot>();
  demand(1);
  tell(QueueSnapshotTaken{somebody_waits()});
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(IdleReuseTest, NobodyWaitsAndItStaysToTheEndOfItsTime) {
  given_idle_reuse();
  std::size_t snapshots = 0;
  for (int second = 0; second < 299; ++second) {
    if (count<TakeQueueSnapshot>() > 0) ++snapshots, tell(QueueSnapshotTaken{QueueSnapshot{}});
    advance_alive(1s);
  }
  EXPECT_EQ(state(), LeaseState::kIdle);
  EXPECT_NEAR(static_cast<double>(snapshots), 299 / 4.0, 2.0);
  advance_alive(1s);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(IdleReuseTest, ALookIsMadeTheMoreSeldomTheLongerItTakes) {
  given_idle_reuse();
  for (const auto& [took, next] :
       {std::pair{10ms, 4s}, {80ms, 4s}, {200ms, 10s}, {600ms, 30s}, {900ms, 30s}, {10ms, 4s}}) {
    wait_for<TakeQueueSnapshot>();
    tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
    const TimePoint begun = now;
    now += took;
    tell(QueueSnapshotTaken{QueueSnapshot{}});
    wait_for<TakeQueueSnapshot>();
    EXPECT_EQ(now - begun, next) << took.count();
  }
}

TEST_F(IdleReuseTest, AFailedLookGivesNothingAway) {
  given_idle_reuse();
  look_at(tl::unexpected(trouble(ErrorCode::kSlurmUnreachable)));
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(IdleReuseTest, WhereLooksKeepFailingItIsWarmForAShortTime) {
  given_idle_reuse();
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(core.leases()[0].reason.code, CauseCode::kKeptShortly);
    wait_for<TakeQueueSnapshot>();
    tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
    tell(QueueSnapshotTaken{tl::unexpected(trouble(ErrorCode::kRejected))});
  }
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kKeptShortly);
}

TEST_F(IdleReuseTest, WhereOthersAreHiddenItIsWarmForAShortTime) {
  given_idle_reuse();
  look_at(QueueSnapshot{true, {}, {}, {}});
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kKeptShortly);
  advance_alive(59s);
  EXPECT_EQ(state(), LeaseState::kIdle);
  EXPECT_EQ(count<TakeQueueSnapshot>(), 0u);
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
  void request(int who) {
    open(who);
    demand(1, 0, one_gpu(), who);
  }
};

TEST_F(StartsTest, OneMoreThanTheHourAllowsWaitsAndIsToldSince) {
  start();
  request(1), request(2);
  const TimePoint first = now;
  advance(10s);
  request(3);
  EXPECT_EQ(state(3), LeaseState::kRequested);
  ASSERT_GE(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>().back().why, (Cause{.code = CauseCode::kStartRate, .number = 2}));
  EXPECT_EQ(only<TellStatus>().back().not_before, first + 1h);
}

TEST_F(StartsTest, ItStartsWhenTheHourIsOver) {
  start();
  request(1), request(2), request(3);
  for (int minute = 0; minute < 60; ++minute) {
    advance(20s), tell(SessionSeen{session(3)});
    advance(20s), tell(SessionSeen{session(3)});
    EXPECT_EQ(state(3), LeaseState::kRequested);
    advance(20s), tell(SessionSeen{session(3)});
  }
  EXPECT_EQ(state(3), LeaseState::kSubmitting);
}

TEST_F(StartsTest, ThoseWhoWaitAreToldTimesInTheirOrder) {
  start();
  request(1);
  advance(10s);
  request(2);
  const TimePoint second = now;
  advance(10s);
  request(3);
  request(4);
  EXPECT_EQ(only<TellStatus>().back().not_before, second + 1h);
}

TEST_F(StartsTest, OneThatIsLookedAtBeforeThoseAheadOfItWaitsForThem) {
  int id = 100;  // the youngest comes first in the state
  LeaseCore downwards(our_instance(), two_an_hour(), [&] { return lease(id--); });
  downwards.handle(JournalRead{{}}, now);
  downwards.handle(SessionOpened{session(1)}, now);
  std::vector<Request> requests;
  for (std::uint32_t number = 1; number <= 4; ++number) {
    requests.push_back({RequestId{number}, resources("cheetah", number), 1, 0, {}});
    downwards.handle(DemandChanged{session(1), requests}, now + number * 1s);
  }

  const auto acts = downwards.handle(ReconcileDone{{}}, now + 5s);  // until then nobody starts

  EXPECT_EQ(std::ranges::count_if(acts, [](const Action& act) { return std::holds_alternative<SubmitJob>(act); }), 2);
}

TEST_F(StartsTest, OneThatHoldsOffForAReasonOfItsOwnIsNotInTheWay) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});  // by somebody: no other one during a minute
  ASSERT_EQ(state(2), LeaseState::kRequested);
  request(2);
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
