// The way out: drain, cancel, and until Slurm shows no job.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class EndingTest : public LeaseTest {};

TEST_F(EndingTest, AWorkerThatDoesNotEndIsCancelledAfterTheDrainTime) {
  given_draining();
  const TimePoint told = now;
  wait_for<CancelJob>();
  EXPECT_LE(now - told, 10s);
  EXPECT_GE(now - told, 8s);
}

TEST_F(EndingTest, AWorkerThatSavesWhileItLeavesIsCancelledAfterTheTimeToLeave) {
  given_draining();
  const TimePoint told = now;
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0, 0, NamespaceState::kSaving});
  wait_for<CancelJob>();
  EXPECT_LE(now - told, 60s);
  EXPECT_GE(now - told, 58s);
}

TEST_F(EndingTest, AWorkerThatHasSaidFarewellIsHeardAboutWhatItSaves) {
  given_draining();
  const TimePoint told = now;
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, false, NamespaceState::kSaving});
  wait_for<CancelJob>();
  EXPECT_GE(now - told, 58s);
}

TEST_F(EndingTest, AWorkerThatHasSavedEverythingHasTheDrainTimeAfterIt) {
  given_draining();
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0, 0, NamespaceState::kSaving});
  advance(20s);
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0, 0, NamespaceState::kSaved});
  const TimePoint saved = now;
  wait_for<CancelJob>();
  EXPECT_EQ(now - saved, 10s);
}

TEST_F(EndingTest, AConnectionThatIsCutSaysNothingOfWhatAWorkerSaves) {
  given_draining();
  const TimePoint told = now;
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0, 0, NamespaceState::kSaving});
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  wait_for<CancelJob>();
  EXPECT_GE(now - told, 58s);
}

TEST_F(EndingTest, AWorkerThatEndsByItselfIsNotCancelled) {
  given_busy();
  polled(view(JobState::kRunning));
  demand(0);
  advance_alive(61s);
  ASSERT_EQ(state(), LeaseState::kDraining);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  EXPECT_EQ(count<PollJobs>(), 1u);
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCompleted)}});
  EXPECT_EQ(state(), std::nullopt);
  EXPECT_EQ(count<CancelJob>(), 0u);
}

// The simulator's seed 692557: the owner was told with the cancel, ran the task's second attempt elsewhere, and then
// the worker woke up.
TEST_F(EndingTest, ATaskThatACutOffWorkerMayHaveReadIsLostOnlyWhenSlurmShowsTheEnd) {
  given_draining();
  demand(0, 1);  // sent before its client heard that the worker was asked to leave
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  wait_for<CancelJob>();
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  tell(Polled{std::vector{view(JobState::kEnding, JobEnd::kCancelled)}});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause.code, CauseCode::kIdle);
}

TEST_F(EndingTest, ATaskThatWaitsNeedNotWaitForTheEndOfAnUnansweredLease) {
  given_draining();
  demand(1, 0);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  wait_for<CancelJob>();
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(EndingTest, TheOwnerHearsOfTheEndOnce) {
  given_draining();
  std::size_t told = count<TellLeaseEnded>();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  told += count<TellLeaseEnded>();
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCompleted)}});
  told += count<TellLeaseEnded>();
  EXPECT_EQ(told, 1u);
}

TEST_F(EndingTest, ACancelIsRepeatedUntilSlurmShowsNoJob) {
  given_ending();
  std::size_t cancels = count<CancelJob>();
  for (int i = 0; i < 4; ++i) {
    tell(CancelDone{lease(1), {}});
    wait_for<CancelJob>();
    cancels += count<CancelJob>();
    if (core.counters().polls > 0) tell(Polled{std::vector{view(JobState::kRunning)}});
  }
  EXPECT_EQ(cancels, 5u);
}

TEST_F(EndingTest, AFailedCancelIsRepeated) {
  given_ending();
  tell(CancelDone{lease(1), tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  wait_for<CancelJob>();
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
}

TEST_F(EndingTest, ACancelThatIsTakingEffectIsNotRepeated) {
  given_ending();
  tell(CancelDone{lease(1), {}});
  EXPECT_EQ(count<PollJobs>(), 1u);
  tell(Polled{std::vector{view(JobState::kEnding)}});
  for (int i = 0; i < 5; ++i) {
    polled(view(JobState::kEnding));
    EXPECT_EQ(count<CancelJob>(), 0u);
  }
}

TEST_F(EndingTest, ALeaseEndsOnlyWhenSlurmShowsNoJob) {
  given_ending();
  tell(CancelDone{lease(1), {}});
  EXPECT_EQ(state(), LeaseState::kEnding);
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});
  EXPECT_EQ(state(), std::nullopt);
}

TEST_F(EndingTest, AnUnlinkedIdleWorkerIsCancelledInSlurm) {
  given_idle();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  wait_for<CancelJob>();
  EXPECT_EQ(state(), LeaseState::kEnding);
}

TEST_F(EndingTest, ADrainWithoutAKnownJobIsCancelledOnceAReconcileShowsIt) {
  given_submitting();
  tell(connected(0, 0));
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  tell(SessionClosed{session(1)});
  for (int i = 0; i < 30 && count<ReconcileJobs>() == 0; ++i) advance(1s);
  tell(ReconcileDone{std::vector{view(JobState::kRunning)}});
  wait_for<CancelJob>();
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
}

TEST_F(EndingTest, AHistoryTellsWhatHappened) {
  given_ending();
  const auto history = core.history(lease(1));
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history.back().from, LeaseState::kQueued);
  EXPECT_EQ(history.back().to, LeaseState::kEnding);
}

TEST_F(EndingTest, AHistoryIsKeptAfterTheEndAndDoesNotGrowForEver) {
  given_busy();
  for (int i = 0; i < 500; ++i) demand(i % 2);
  EXPECT_LE(core.history(lease(1)).size(), History::kLines);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kTimeout)}});
  EXPECT_FALSE(core.history(lease(1)).empty());
}

}  // namespace
}  // namespace pounce::lease
