// Leases with several workers: each comes, dies and comes back by itself; together they are one lease.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

using testing::Each;
using testing::Field;
using testing::SizeIs;

class WorkerGroupTest : public LeaseTest {
 protected:
  static constexpr std::uint32_t kWorkers = 3;

  static Resources three() {
    Resources asked = one_gpu();
    asked.workers = kWorkers;
    return asked;
  }
  static WorkerLink link_of(std::uint32_t worker) { return WorkerLink{10 + worker}; }

  void given_three_starting() {
    start();
    open();
    demand(1, 0, three());
    tell(Submitted{lease(1), job(7)});
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) connect(worker);
  }
  void given_three_busy() {
    given_three_starting();
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) come_up(worker);
  }
  void given_three_draining() {
    given_three_busy();
    demand(0, 0, three());
    for (int second = 0; second < 60; ++second) {
      advance(1s);
      beat_all();
    }
  }
  void connect(std::uint32_t worker) {
    tell(WorkerConnected{lease(1), WorkerIndex{worker}, link_of(worker), SlurmJobId{7}, 0, "g1",
                         "GPU " + std::to_string(worker)});
  }
  void come_up(std::uint32_t worker, std::uint32_t epoch = 1) {
    tell(InterpreterStarted{lease(1), WorkerIndex{worker}, link_of(worker), Epoch{epoch}});
  }
  void die(std::uint32_t worker, std::uint32_t epoch = 1, bool restarting = true) {
    tell(InterpreterDied{lease(1), WorkerIndex{worker}, link_of(worker), Epoch{epoch},
                         trouble(ErrorCode::kWorkerCrashed), restarting});
  }
  // Of three workers two come, one gets its interpreter, and the job ends.
  void fail_half_ready(int n) {
    const JobIdentity its = job(static_cast<std::uint32_t>(6 + n));
    tell(Submitted{lease(n), its});
    for (std::uint32_t worker : {0u, 1u})
      tell(WorkerConnected{lease(n), WorkerIndex{worker}, link_of(worker), its.job, 0, "g1", "GPU"});
    tell(InterpreterStarted{lease(n), WorkerIndex{0}, link_of(0), Epoch{1}});
    for (std::uint32_t worker : {0u, 1u}) tell(WorkerLost{lease(n), WorkerIndex{worker}, link_of(worker)});
    tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kFailed, its, n)}});
  }
  void leave_idle(std::uint32_t worker, std::uint32_t epoch = 1) {
    const Error left = error_of(ErrorCode::kLeaseEnded, Cause{CauseCode::kIdle});
    tell(InterpreterDied{
        lease(1), WorkerIndex{worker}, link_of(worker), Epoch{epoch}, left, false, {"key", std::vector<TaskId>{}}});
  }
  void heard(std::uint32_t worker, std::uint32_t running = 0) {
    tell(WorkerSeen{lease(1), WorkerIndex{worker}, link_of(worker), running});
  }
  void beat_all() {
    const auto before = actions;
    tell(SessionSeen{session(1)});
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) heard(worker);
    if (core.leases().front().state == LeaseState::kDraining && actions.empty()) actions = before;
  }
};

TEST_F(WorkerGroupTest, TheFirstReadyInterpreterMakesTheLeaseActiveAndEachIsGranted) {
  given_three_starting();
  come_up(1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  ASSERT_THAT(only<GrantWorker>(), SizeIs(1));
  EXPECT_EQ(only<GrantWorker>()[0].worker, WorkerIndex{1});
  come_up(0);
  ASSERT_THAT(only<GrantWorker>(), SizeIs(1));
  EXPECT_EQ(only<GrantWorker>()[0].worker, WorkerIndex{0});
  EXPECT_EQ(core.leases()[0].workers_ready, 2u);
}

TEST_F(WorkerGroupTest, AWorkerThatConnectsLateDoesNotDisturbTheOthers) {
  given_three_starting();
  come_up(0);
  connect(2);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<TellStatus>(), 0u);
}

TEST_F(WorkerGroupTest, EachWorkersDevicesAreTold) {
  given_three_starting();
  EXPECT_EQ(core.leases()[0].devices, "GPU 0, GPU 1, GPU 2");
}

// One worker was ready each time, and so no start was a bad one: jobs were asked for without end.
TEST_F(WorkerGroupTest, LeasesInARowThatEndBeforeAllTheirWorkersWereReadyFailTheRequest) {
  start();
  open();
  demand(1, 0, three());
  const int limit = static_cast<int>(defaults.crash_limit);
  for (int n = 1; n < limit; ++n) {
    fail_half_ready(n);
    EXPECT_EQ(count<TellRequestFailed>(), 0u);
    advance_alive(10s);
  }
  fail_half_ready(limit);
  EXPECT_EQ(count<TellRequestFailed>(), 1u);
}

TEST_F(WorkerGroupTest, AWorkerMoreThanTheLeaseHasIsSentAway) {
  given_three_starting();
  connect(kWorkers);
  ASSERT_THAT(only<EndWorker>(), SizeIs(1));
  EXPECT_EQ(only<EndWorker>()[0].link, link_of(kWorkers));
}

TEST_F(WorkerGroupTest, ADeathOfOneIsToldAndTheLeaseStaysActive) {
  given_three_busy();
  die(1);
  ASSERT_THAT(only<TellWorkerDown>(), SizeIs(1));
  EXPECT_EQ(only<TellWorkerDown>()[0].worker, WorkerIndex{1});
  EXPECT_EQ(state(), LeaseState::kBusy);
  come_up(1, 2);
  ASSERT_THAT(only<GrantWorker>(), SizeIs(1));
  EXPECT_EQ(only<GrantWorker>()[0].epoch, Epoch{2});
}

TEST_F(WorkerGroupTest, OnlyTheDeathOfTheLastReadyOneMakesTheLeaseStartAgain) {
  given_three_busy();
  die(0);
  die(1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  die(2);
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerGroupTest, DeathsAreCountedForEachWorker) {
  given_three_busy();
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    die(worker, 1);
    come_up(worker, 2);
    die(worker, 2);
    come_up(worker, 3);
  }
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<EndWorker>(), 0u);
}

TEST_F(WorkerGroupTest, AWorkerThatDiesTooOftenIsSentAwayAloneAndTheLastOneTakesTheLeaseAlong) {
  given_three_busy();
  die(0, 1, false);
  ASSERT_THAT(only<EndWorker>(), SizeIs(1));
  EXPECT_EQ(only<EndWorker>()[0].link, link_of(0));
  EXPECT_EQ(state(), LeaseState::kBusy);
  die(1, 1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  die(2, 1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

// Its connection alone was cut: its task ran, and was told that its worker had crashed. (Seed 5770)
TEST_F(WorkerGroupTest, AWorkerThatIsCutOffKeepsTheLeaseWhenAllOthersDiedTooOften) {
  given_three_busy();
  tell(WorkerLost{lease(1), WorkerIndex{2}, link_of(2), true});
  die(0, 1, false);
  die(1, 1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  EXPECT_EQ(state(), LeaseState::kBusy);
  connect(2);
  come_up(2);
  EXPECT_EQ(count<GrantWorker>(), 1u);
}

// It hung, stayed, and got a task, which was told that its worker had crashed when the last of the others had. (Seed
// 529864)
TEST_F(WorkerGroupTest, AWorkerThatWasSentAwayAndStaysGetsNoTaskAndIsToldAgain) {
  given_three_busy();
  die(0, 1, false);
  come_up(0, 2);
  EXPECT_EQ(count<GrantWorker>(), 0u);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(only<EndWorker>()[0].link, link_of(0));
  open();
  EXPECT_EQ(count<GrantWorker>(), 2u);
}

// It hung, and its beats kept the lease of two that never came back: whoever waited for it waited for ever. (Seeds
// 7029971, 7098644)
TEST_F(WorkerGroupTest, AWorkerThatWasSentAwayAndStaysDoesNotSpeakForThoseThatAreSilent) {
  given_three_busy();
  die(0, 1, false);
  for (const std::uint32_t worker : {1u, 2u}) tell(WorkerLost{lease(1), WorkerIndex{worker}, link_of(worker), true});
  const TimePoint gone = now;
  while (state() != LeaseState::kEnding && now < gone + 2 * defaults.lost_after) {
    advance(5s);
    tell(SessionSeen{session(1)});
    now + 5s < gone + defaults.lost_after / 2 ? heard(0) : connect(0);
  }
  EXPECT_EQ(state(), LeaseState::kEnding);
  EXPECT_LE(now, gone + defaults.lost_after + 10s);
}

TEST_F(WorkerGroupTest, AWorkerThatHasSaidFarewellDoesNotKeepTheLease) {
  given_three_busy();
  tell(WorkerLost{lease(1), WorkerIndex{2}, link_of(2)});
  die(0, 1, false);
  die(1, 1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(WorkerGroupTest, AWorkerThatHasNotComeYetKeepsTheLeaseToo) {
  start();
  open();
  demand(1, 0, three());
  tell(Submitted{lease(1), job(7)});
  connect(0);
  die(0, 1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerGroupTest, TheLeaseIsBusyWhileAnyWorkerRunsATask) {
  given_three_busy();
  heard(2, 1);
  demand(0, 0, three());
  EXPECT_EQ(state(), LeaseState::kBusy);
  heard(0, 0);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(core.leases()[0].running, 1u);
  heard(2, 0);
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(WorkerGroupTest, AnIdleLeaseAsksEachWorkerToLeave) {
  given_three_draining();
  ASSERT_EQ(state(), LeaseState::kDraining);
  EXPECT_THAT(only<EndWorker>(), AllOf(SizeIs(kWorkers), Each(Field(&EndWorker::only_if_idle, true))));
}

TEST_F(WorkerGroupTest, OneThatHasJustGotATaskKeepsTheLease) {
  given_three_draining();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link_of(0)});
  heard(1, 1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  advance(11s);
  EXPECT_EQ(count<CancelJob>(), 0u);
}

// A task that was on its way to a worker as it left was told that the lease had ended, and may have run.
TEST_F(WorkerGroupTest, WhatOneThatLeftIdleHadNotStartedIsToldToItsClientBeforeTheLeaseEnds) {
  given_three_draining();
  leave_idle(0);
  ASSERT_THAT(only<TellWorkerDown>(), SizeIs(1));
  EXPECT_EQ(only<TellWorkerDown>()[0].worker, WorkerIndex{0});
  EXPECT_EQ(only<TellWorkerDown>()[0].ended.started, std::vector<TaskId>{});
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(WorkerGroupTest, OneThatLeftIdleWhileAnotherHadJustGotATaskHasNotCrashedAndMayComeBack) {
  given_three_draining();
  heard(1, 1);
  for (std::uint32_t epoch = 1; epoch <= defaults.crash_limit + 1; ++epoch) {
    leave_idle(0, epoch);
    EXPECT_EQ(count<TellWorkerDown>(), 1u);
    EXPECT_EQ(count<EndWorker>(), 0u);
    connect(0);
    come_up(0, epoch + 1);
    EXPECT_EQ(count<GrantWorker>(), 1u);
  }
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WorkerGroupTest, ADrainingLeaseIsGoneForItsOwnerWhenTheLastWorkerIs) {
  given_three_draining();
  for (const std::uint32_t worker : {0u, 1u}) {
    tell(WorkerLost{lease(1), WorkerIndex{worker}, link_of(worker)});
    EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  }
  tell(WorkerLost{lease(1), WorkerIndex{2}, link_of(2)});
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(WorkerGroupTest, NobodyIsAskedWhileOneOfThemIsHeard) {
  given_three_busy();
  for (int second = 0; second < 60; ++second) {
    advance(1s);
    tell(SessionSeen{session(1)});
    heard(1, 1);
    EXPECT_EQ(count<PollJobs>(), 0u);
  }
}

// Its watchdog had ended it while it could not reach anybody. Its last beat kept the other two for ever.
TEST_F(WorkerGroupTest, TheLastBeatOfAWorkerThatLeftForGoodDoesNotKeepTheLeaseBusy) {
  given_three_busy();
  heard(1, 1);
  demand(0, 0, three());
  tell(WorkerLost{lease(1), WorkerIndex{1}, link_of(1), true});
  ASSERT_EQ(core.leases().front().state, LeaseState::kBusy);
  for (auto second = 0s; second < defaults.lost_after + 1s; second += 1s) {
    advance(1s);
    tell(SessionSeen{session(1)});
    heard(0);
    heard(2);
  }
  EXPECT_EQ(core.leases().front().state, LeaseState::kDraining) << "idle for as long as that";
}

TEST_F(WorkerGroupTest, AClosedSessionIsDismissedEverywhere) {
  given_three_busy();
  tell(SessionClosed{session(1)});
  EXPECT_EQ(count<DismissClient>(), kWorkers);
  EXPECT_EQ(count<EndWorker>(), kWorkers);
}

TEST_F(WorkerGroupTest, ASessionThatComesBackIsIntroducedToEach) {
  given_three_busy();
  open();
  EXPECT_EQ(count<AdmitClient>(), kWorkers);
  EXPECT_EQ(count<GrantWorker>(), kWorkers);
}

TEST_F(WorkerGroupTest, AnotherNumberOfWorkersIsAnotherLease) {
  given_three_busy();
  demand(1);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

}  // namespace
}  // namespace pounce::lease
