// Supervisors and interpreters: hello, grants, deaths, silence.
#include <utility>

#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class WorkerTest : public LeaseTest {
 protected:
  void die(std::uint32_t epoch, bool restarting = true) {
    tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{epoch}, trouble(ErrorCode::kWorkerCrashed), restarting});
  }
  void come_up(std::uint32_t epoch) { tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{epoch}}); }
};

TEST_F(WorkerTest, TheClientIsAdmittedBeforeTheInterpreterIsReady) {
  given_starting();
  ASSERT_EQ(count<AdmitClient>(), 1u);
  EXPECT_EQ(only<AdmitClient>()[0].session, session(1));
  EXPECT_EQ(count<GrantWorker>(), 0u);
}

TEST_F(WorkerTest, AReadyInterpreterIsGrantedToTheRequest) {
  given_busy();
  ASSERT_EQ(count<GrantWorker>(), 1u);
  EXPECT_EQ(only<GrantWorker>()[0].request, RequestId{1});
  EXPECT_EQ(only<GrantWorker>()[0].epoch, Epoch{1});
}

TEST_F(WorkerTest, AWorkersHelloNeedsNoPollToBeBelieved) {
  given_queued();
  tell(connected());
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerTest, ADeadInterpreterIsToldAndItsSuccessorGranted) {
  given_busy();
  die(1);
  ASSERT_EQ(count<TellWorkerDown>(), 1u);
  EXPECT_EQ(only<TellWorkerDown>()[0].error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(only<TellWorkerDown>()[0].error.context.at("lease"), lease(1).hex());
  EXPECT_EQ(only<TellWorkerDown>()[0].error.context.at("job"), "7");
  EXPECT_EQ(state(), LeaseState::kStarting);
  come_up(2);
  ASSERT_EQ(count<GrantWorker>(), 1u);
  EXPECT_EQ(only<GrantWorker>()[0].epoch, Epoch{2});
}

TEST_F(WorkerTest, ThreeDeathsInFiveMinutesEndTheLease) {
  given_busy();
  die(1);
  come_up(2);
  die(2);
  come_up(3);
  die(3);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

TEST_F(WorkerTest, AFailedGpuEndsTheLeaseAtOnceAndIsTheReason) {
  given_busy();
  tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{1}, trouble(ErrorCode::kDeviceFailed), false});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.text, "as the test says");
  EXPECT_FALSE(only<TellLeaseEnded>()[0].error.cause);
}

TEST_F(WorkerTest, AGpuThatFailsBeforeTheFirstInterpreterIsReadyIsTriedElsewhere) {
  given_starting();
  tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{1}, trouble(ErrorCode::kDeviceFailed), false});
  EXPECT_EQ(count<TellRequestFailed>(), 0u);
}

TEST_F(WorkerTest, GpusThatAreNotTheLeasesRefuseTheRequest) {
  given_starting();
  tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{1}, trouble(ErrorCode::kDeviceUnavailable), false});
  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(only<TellRequestFailed>()[0].error.code, ErrorCode::kDeviceUnavailable);
  EXPECT_EQ(only<TellRequestFailed>()[0].error.text, "as the test says");
}

TEST_F(WorkerTest, DeathsThatTheUserAskedForAreNoCrashes) {
  given_busy();
  for (std::uint32_t epoch = 1; epoch <= 5; ++epoch) {
    tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{epoch}, trouble(ErrorCode::kCancelled), true});
    come_up(epoch + 1);
  }
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WorkerTest, ThreeDeathsFarApartDoNot) {
  given_busy();
  for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
    die(epoch);
    EXPECT_EQ(count<TellLeaseEnded>(), 0u);
    come_up(epoch + 1);
    advance_alive(200s, 1);
  }
}

TEST_F(WorkerTest, ADeathThatTheSupervisorDoesNotRepairEndsTheLease) {
  given_busy();
  die(1, false);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(WorkerTest, AnInterpreterThatNeverComesUpFailsTheRequest) {
  given_starting();
  die(1);
  die(2);
  die(3);
  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(only<TellRequestFailed>()[0].error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(WorkerTest, TheSameDeathTwiceCountsOnce) {
  given_busy();
  die(1);
  die(1);
  die(1);
  EXPECT_EQ(count<TellWorkerDown>(), 0u);
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerTest, NewsOfAnEarlierInterpreterIsIgnored) {
  given_busy();
  die(1);
  come_up(2);
  come_up(1);
  EXPECT_EQ(count<GrantWorker>(), 0u);
  die(1);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WorkerTest, NewsOfAnEarlierLinkIsIgnored) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, WorkerLink{99}});
  tell(WorkerSeen{lease(1), WorkerIndex{0}, WorkerLink{99}, 3});
  EXPECT_EQ(core.leases()[0].running, 0u);
  EXPECT_TRUE(core.leases()[0].worker_linked);
}

// ---- Slurm starts a job a second time: its supervisors count their interpreters from the same epoch again ----

TEST_F(WorkerTest, AnotherProcessInAWorkersPlaceMayCountItsInterpretersFromTheBeginning) {
  given_busy(process(1));
  die(1);
  come_up(2);
  link = WorkerLink{2};
  tell(connected_as(process(2)));
  EXPECT_EQ(state(), LeaseState::kStarting);
  for (const std::uint32_t epoch : {1u, 2u}) {
    come_up(epoch);
    ASSERT_EQ(count<GrantWorker>(), 1u);
    EXPECT_EQ(only<GrantWorker>()[0].epoch, Epoch{epoch});
    die(epoch);
    EXPECT_EQ(count<TellWorkerDown>(), 1u);
  }
}

TEST_F(WorkerTest, TheSameProcessOnANewConnectionKeepsItsEpochs) {
  given_busy(process(1));
  die(1);
  come_up(2);
  link = WorkerLink{2};
  tell(connected_as(process(1)));
  come_up(1);
  EXPECT_EQ(count<GrantWorker>(), 0u) << "it is known to be gone";
}

TEST_F(WorkerTest, AProcessWhosePlaceAnotherHasTakenIsSentAwayWhenItComesBack) {
  given_busy(process(1));
  link = WorkerLink{2};
  tell(connected_as(process(2)));
  link = WorkerLink{3};
  tell(connected_as(process(1)));
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(only<EndWorker>()[0].why.code, CauseCode::kWorkerReplaced);
  EXPECT_FALSE(core.speaks_for(lease(1), WorkerIndex{0}, WorkerLink{3}));
  EXPECT_TRUE(core.speaks_for(lease(1), WorkerIndex{0}, WorkerLink{2}));
}

// It ran a task that had been sent elsewhere since, after that one's outcome had come. (Seeds 5002735 and 6010204)
TEST_F(WorkerTest, AProcessWhosePlaceAnotherTakesIsSentAwayAtOnceWhileItIsConnected) {
  given_busy(process(1));
  const WorkerLink earlier = std::exchange(link, WorkerLink{2});
  tell(connected_as(process(2)));
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(only<EndWorker>()[0].link, earlier);
  EXPECT_EQ(only<EndWorker>()[0].why.code, CauseCode::kWorkerReplaced);
  EXPECT_FALSE(only<EndWorker>()[0].only_if_idle);
}

TEST_F(WorkerTest, AProcessWhosePlaceAnotherTakesAndWhoseConnectionIsGoneIsNotSpokenTo) {
  given_busy(process(1));
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  link = WorkerLink{2};
  tell(connected_as(process(2)));
  EXPECT_EQ(count<EndWorker>(), 0u);
}

TEST_F(WorkerTest, AJobThatRunsWithoutAWorkerIsGivenUp) {
  given_queued();
  polled(view(JobState::kRunning));
  EXPECT_EQ(state(), LeaseState::kStarting);
  wait_for<TellLeaseEnded>();
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kLeaseEnded);
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(WorkerTest, TheHelloDeadlineCountsFromWhenSlurmSaysRunning) {
  given_queued();
  for (int i = 0; i < 5; ++i) polled(view(JobState::kQueued));
  polled(view(JobState::kRunning));
  const TimePoint running = now;
  wait_for<TellLeaseEnded>();
  EXPECT_EQ(now - running, 120s);
}

TEST_F(WorkerTest, ASilentWorkersJobIsLookedUpOnce) {
  given_busy();
  polled(view(JobState::kRunning));
  beat(1);
  advance(14s);
  tell(SessionSeen{session(1)});
  EXPECT_EQ(count<PollJobs>(), 0u);
  advance(1s);
  ASSERT_EQ(count<PollJobs>(), 1u);
  EXPECT_EQ(only<PollJobs>()[0].jobs, std::vector{job(7)});
}

TEST_F(WorkerTest, AWorkerThatIsHeardIsPolledUntilItsJobIsShownToRunAndNeverAgain) {
  given_busy();
  polled(view(JobState::kQueued));  // a view that was slow to arrive
  polled(view(JobState::kRunning));
  advance_alive(300s, 1);
  EXPECT_EQ(count<PollJobs>(), 0u);
}

// A worker that was there before the first look at its job once never told when its time ends.
TEST_F(WorkerTest, TheOwnerOfABusyLeaseHearsWhenItsTimeEnds) {
  given_busy();
  JobView running = view(JobState::kRunning);
  running.end_time_s = 5000;
  running.devices = "gpu:a100:1(IDX:0)";
  polled(running);
  ASSERT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>()[0].end_time_s, 5000);
  EXPECT_EQ(only<TellStatus>()[0].state, LeaseState::kBusy);
  EXPECT_EQ(only<TellStatus>()[0].devices, "gpu:a100:1");  // as the worker called them
}

// "waited on gpu:a100:1" was said of one that had nothing yet.
TEST_F(WorkerTest, ALeaseThatWaitsHasNoDevices) {
  given_queued();
  JobView waits = view(JobState::kQueued);
  waits.devices = "gpu:a100:1";
  waits.reason = "Resources";
  polled(waits);
  ASSERT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>()[0].devices, "");
}

// It leaves without a farewell: its lease once ended by the drain's deadline only, ten seconds later.
TEST_F(WorkerTest, ADrainingWorkersJobIsPolledSoonAlthoughItWasJustHeard) {
  given_busy();
  tell(SessionClosed{session(1)});
  EXPECT_EQ(state(), LeaseState::kDraining);
  advance(2s);
  ASSERT_EQ(count<PollJobs>(), 1u);
  EXPECT_EQ(only<PollJobs>()[0].jobs, std::vector{job(7)});
}

TEST_F(WorkerTest, ALostWorkersJobIsLookedUpAtOnce) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  EXPECT_EQ(count<PollJobs>(), 1u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

// A process that dies is cut off first; Slurm knows a second later how it ended, and its owner must not wait for
// longer.
TEST_F(WorkerTest, WhyACutOffWorkerDiedIsToldHalfASecondAfterSlurmKnowsIt) {
  given_busy();
  polled(view(JobState::kRunning));
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  ASSERT_EQ(count<PollJobs>(), 1u);
  const TimePoint cut = now;
  tell(Polled{std::vector{view(JobState::kRunning)}});
  while (now < cut + 1s) polled(view(JobState::kRunning));
  JobView ended = view(JobState::kEnded, JobEnd::kFailed);
  ended.signal = 9;
  polled(ended);
  EXPECT_LE(now - cut, 1500ms);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause, (Cause{.code = CauseCode::kJobSignal, .job = 7, .number = 9}));
}

TEST_F(WorkerTest, ACutOffWorkersJobIsLookedUpOftenForAWhileOnly) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  const TimePoint cut = now;
  tell(Polled{std::vector{view(JobState::kRunning)}});
  const std::uint64_t before = core.counters().polls;
  while (now < cut + 30s) {
    if (state() != LeaseState::kBusy) break;
    polled(view(JobState::kRunning));
  }
  EXPECT_LE(core.counters().polls - before, 26u);
}

TEST_F(WorkerTest, ACutOffWorkerThatComesBackIsNotLookedUpAnyMore) {
  given_busy();
  polled(view(JobState::kRunning));
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  tell(Polled{std::vector{view(JobState::kRunning)}});
  link = WorkerLink{2};
  tell(connected());
  come_up(1);
  advance_alive(10s, 1);
  EXPECT_EQ(count<PollJobs>(), 0u);
}

// It may have got a task just before: whether that is lost is Slurm's word.
TEST_F(WorkerTest, ADrainingWorkerThatIsCutOffIsGoneWhenSlurmSaysSo) {
  given_busy();
  polled(view(JobState::kRunning));
  demand(0);
  advance_alive(61s);
  ASSERT_EQ(state(), LeaseState::kDraining);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  ASSERT_EQ(count<PollJobs>(), 1u);
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCompleted)}});
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(WorkerTest, AWorkerThatComesBackIsGrantedAgain) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  link = WorkerLink{2};
  tell(connected());
  come_up(1);
  EXPECT_EQ(count<GrantWorker>(), 1u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(WorkerTest, AWorkerOfAnotherJobIsSentAway) {
  given_queued();
  tell(connected(0, 8));
  EXPECT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(WorkerTest, ASecondWorkerOfOneLeaseIsSentAway) {
  given_busy();
  WorkerConnected second = connected();
  second.worker = WorkerIndex{1};
  second.link = WorkerLink{5};
  tell(second);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(only<EndWorker>()[0].link, WorkerLink{5});
}

TEST_F(WorkerTest, AWorkerOfAnEndedLeaseIsSentAway) {
  given_queued();
  polled(view(JobState::kEnded, JobEnd::kTimeout));
  tell(connected());
  EXPECT_EQ(count<EndWorker>(), 1u);
}

TEST_F(WorkerTest, AWorkerOfAnUnknownLeaseWaitsForAReconcile) {
  start();
  tell(connected());
  EXPECT_EQ(count<EndWorker>(), 0u);
  reconciled_jobs({view(JobState::kRunning)});
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerTest, AWorkerOfAJobInAnUnknownStateShowsThatItRuns) {
  start();
  tell(connected());
  reconciled_jobs({view(JobState::kUnknown)});
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(WorkerTest, AWorkerThatNoReconcileShowsIsSentAway) {
  start();
  tell(connected());
  reconciled_jobs({});
  reconciled_jobs({});
  EXPECT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(state(), std::nullopt);
}

TEST_F(WorkerTest, UnderTheLocalLauncherWorkersHaveNoJobNumber) {
  given_queued();
  tell(connected(0, 0));
  EXPECT_EQ(state(), LeaseState::kStarting);
}

// ---- silence ----

class SilenceTest : public WorkerTest {
 protected:
  // The session goes on; nothing is heard of the worker; Slurm says that its job runs.
  void silence(std::chrono::seconds length) {
    std::vector<Action> all;
    for (auto second = 0s; second < length; second += 1s) {
      advance(1s);
      all.insert(all.end(), actions.begin(), actions.end());
      if (count<PollJobs>() > 0) tell(Polled{std::vector{view(JobState::kRunning)}});
      tell(SessionSeen{session(1)});
    }
    actions = std::move(all);
  }
};

TEST_F(SilenceTest, ALostWorkersJobIsCancelledAndItsOwnerToldWhenSlurmSaysThatItEnds) {
  given_busy();
  silence(59s);
  EXPECT_EQ(count<CancelJob>() + count<TellLeaseEnded>(), 0u);
  silence(1s);
  EXPECT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u) << "its result may still come";
  EXPECT_EQ(state(), LeaseState::kEnding);
  tell(CancelDone{lease(1), {}});
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  polled(view(JobState::kEnding, JobEnd::kCancelled));
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kLost);
}

TEST_F(SilenceTest, ALostWorkerOnANodeThatSlurmCallsDownFailedWithItsNode) {
  given_busy();
  silence(60s);
  tell(CancelDone{lease(1), {}});
  polled(view(JobState::kEnded, JobEnd::kNodeFail));
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kNodeFailed);
}

TEST_F(SilenceTest, WhileSlurmDoesNotAnswerNobodyIsLost) {
  given_busy();
  silence(20s);
  wait_for<PollJobs>();
  tell(Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  for (int i = 0; i < 20; ++i) {
    wait_for<PollJobs>();
    tell(Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  }
  EXPECT_EQ(state(), LeaseState::kBusy);
  wait_for<PollJobs>();
  tell(Polled{std::vector{view(JobState::kRunning)}});
  silence(59s);
  EXPECT_EQ(state(), LeaseState::kBusy) << "the line to the worker may come back as the one to Slurm did";
  silence(1s);
  EXPECT_EQ(state(), LeaseState::kEnding);
}

TEST_F(SilenceTest, WhoeverWasStoppedItselfCallsNobodySilent) {
  given_busy();
  now += 10min;  // no timer came meanwhile
  tell(TimePassed{});
  EXPECT_EQ(count<TellLeaseEnded>() + count<EndWorker>() + count<CancelJob>() + count<DismissClient>(), 0u);
  EXPECT_EQ(state(), LeaseState::kBusy);
  advance(61s);
  EXPECT_EQ(count<DismissClient>(), 1u) << "now it is";
}

// Slurm warns the job; when and why its end comes only Slurm can say.
TEST_F(WorkerTest, AWarningIsAskedAboutOnceAndItsAnswerTold) {
  given_busy();
  polled(view(JobState::kRunning));
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1, 1});
  ASSERT_EQ(count<PollJobs>(), 1u);
  JobView seen = view(JobState::kRunning);
  seen.preempt_time_s = 1000, seen.end_time_s = 1030;
  tell(Polled{std::vector{seen}});
  ASSERT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>()[0].end_time_s, 1030);
  EXPECT_EQ(only<TellStatus>()[0].why.code, CauseCode::kPreempted);
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1, 1});
  EXPECT_EQ(count<PollJobs>(), 0u);
}

TEST_F(WorkerTest, APreemptedLeaseEndsWithTheGraceThatItHad) {
  given_busy();
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1, 1});
  JobView seen = view(JobState::kRunning);
  seen.preempt_time_s = 1000, seen.end_time_s = 1030;
  polled(seen);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  polled(view(JobState::kEnded, JobEnd::kPreempted));
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kPreempted);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.context.at("grace_s"), "30");
}

}  // namespace
}  // namespace pounce::lease
