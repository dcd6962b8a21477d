// What the batch system says: ends with their reasons, requeues, recycled ids, states nobody knows.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class JobTest : public LeaseTest {};

struct EndCase {
  JobEnd end;
  ErrorCode code;
};
class JobEndTest : public LeaseTest, public ::testing::WithParamInterface<EndCase> {};

TEST_P(JobEndTest, EndsTheLeaseWithItsTypedReason) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, GetParam().end)}});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, GetParam().code);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.context.at("job"), "7");
  ASSERT_GE(count<RecordOutcome>(), 1u);
  EXPECT_EQ(only<RecordOutcome>()[0].record.kind, JournalRecord::Kind::kEnded);
  EXPECT_EQ(only<RecordOutcome>()[0].code, GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(EachEnd, JobEndTest,
                         ::testing::Values(EndCase{JobEnd::kCompleted, ErrorCode::kLeaseEnded},
                                           EndCase{JobEnd::kFailed, ErrorCode::kLeaseEnded},
                                           EndCase{JobEnd::kCancelled, ErrorCode::kJobCancelled},
                                           EndCase{JobEnd::kTimeout, ErrorCode::kWalltimeReached},
                                           EndCase{JobEnd::kOutOfMemory, ErrorCode::kOutOfMemory},
                                           EndCase{JobEnd::kPreempted, ErrorCode::kPreempted},
                                           EndCase{JobEnd::kNodeFail, ErrorCode::kNodeFailed},
                                           EndCase{JobEnd::kBootFail, ErrorCode::kNodeFailed},
                                           EndCase{JobEnd::kDeadline, ErrorCode::kWalltimeReached},
                                           EndCase{JobEnd::kNotStarted, ErrorCode::kLeaseEnded},
                                           EndCase{JobEnd::kGone, ErrorCode::kLeaseEnded}));

TEST_F(JobTest, WhatSlurmGivesIsToldWhereItIsNotWhatWasRequested) {
  Resources requested = one_gpu();
  requested.time = 79min;
  requested.cpus = 8;
  requested.memory_mib = 4096;
  start();
  open();
  demand(1, 0, requested);
  tell(Submitted{lease(1), job(7)});
  JobView changed = view(JobState::kRunning);
  changed.resources = requested;
  changed.resources.gpus = 2;
  changed.resources.cpus = 4;
  changed.resources.memory_mib = 2048;
  changed.resources.time = 5min;
  polled(changed);
  ASSERT_FALSE(only<TellStatus>().empty());
  EXPECT_EQ(only<TellStatus>().back().given, (model::Given{2, 4, 2048, 5min}));
  EXPECT_EQ(core.leases().front().given, (model::Given{2, 4, 2048, 5min}));
  changed.resources = requested;
  polled(changed);
  EXPECT_FALSE(core.leases().front().given.differs());
}

TEST_F(JobTest, WhatWasNotRequestedOrIsNotToldIsNotComparedWithWhatSlurmGives) {
  Resources requested = one_gpu();
  requested.cpus = 8;
  start();
  open();
  demand(1, 0, requested);
  tell(Submitted{lease(1), job(7)});
  JobView running = view(JobState::kRunning);
  running.resources = one_gpu();  // one CPU is not told
  running.resources.memory_mib = 2048;
  running.resources.time = 60min;
  polled(running);
  EXPECT_FALSE(core.leases().front().given.differs());
}

TEST_F(JobTest, APreemptedLeaseIsReplacedWhenTasksStillWait) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kPreempted)}});
  ASSERT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(only<SubmitJob>()[0].lease, lease(2));
}

TEST_F(JobTest, APreemptedLeaseIsNotReplacedWhenNothingWaits) {
  given_busy();
  demand(0, 1);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kPreempted)}});
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(JobTest, AJobCancelledBySomebodyIsNotReplacedForAMinute) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});
  const TimePoint cancelled = now;
  EXPECT_EQ(count<SubmitJob>(), 0u);
  wait_for<SubmitJob>();
  EXPECT_EQ(now - cancelled, 60s);
}

TEST_F(JobTest, TasksSubmittedAfterAScancelAreServedAtOnce) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});
  demand(0);  // the tasks failed with kJobCancelled
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

// The demand goes from one call to one call: what failed and what is new look alike but for the generation.
TEST_F(JobTest, ACallMadeAtOnceAfterAScancelIsServedAtOnce) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});
  ASSERT_EQ(count<SubmitJob>(), 0u);
  new_calls(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(JobTest, ADemandThatWasOnItsWayWhenItsJobWasCancelledStartsNoOther) {
  given_busy();
  new_calls(1);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnded, JobEnd::kCancelled)}});
  new_calls(2);  // of the same generation: said before the client heard of the end
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(JobTest, NewCallsDoNotHurryTheNextTryAfterABadStart) {
  given_queued();
  polled(view(JobState::kEnded, JobEnd::kFailed));
  new_calls(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

// The workers of the first node were ready each time: a job a second was asked for, without end.
TEST_F(JobTest, WhereSrunGivesNoFurtherWorkersTheRequestFailsAtOnceAndNoOtherJobIsAskedFor) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  JobView ended = view(JobState::kEnded, JobEnd::kFailed);
  ended.exit_code = static_cast<int>(JobExit::kNoSrun);
  tell(Polled{std::vector{ended}});
  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  const Error told = only<TellRequestFailed>()[0].error;
  EXPECT_EQ(told.cause.code, CauseCode::kJobNoSrun);
  EXPECT_EQ(told.context.at("lease"), lease(1).hex()) << "whose log has srun's words";
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(JobTest, OurOwnCancelIsNotSomebodys) {
  given_ending();
  polled(view(JobState::kEnded, JobEnd::kCancelled));
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(JobTest, AnUnknownStateChangesNothing) {
  given_queued();
  reconciled_jobs({view(JobState::kUnknown)});
  EXPECT_EQ(state(), LeaseState::kQueued);
  tell(connected());
  advance_alive(61s);
  tell(ReconcileDone{std::vector{view(JobState::kUnknown)}});
  EXPECT_EQ(state(), LeaseState::kStarting);
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{1}});
  advance_alive(61s);
  tell(ReconcileDone{std::vector{view(JobState::kUnknown)}});
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(core.counters().cancels, 0u);
}

TEST_F(JobTest, AJobWhoseStateIsUnknownFromTheStartIsPolledNotReconciledForEver) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  reconciled_jobs({view(JobState::kUnknown)});
  EXPECT_EQ(state(), LeaseState::kSubmitting);
  polled(view(JobState::kQueued));
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(JobTest, AStateOnlyEndingIsEnough) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnding, JobEnd::kTimeout)}});
  EXPECT_EQ(state(), LeaseState::kEnding);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kWalltimeReached);
  EXPECT_EQ(count<CancelJob>(), 0u);
}

TEST_F(JobTest, AnEndingJobWithoutAReasonKeepsTheOwnerWaitingForIt) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnding)}});
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  polled(view(JobState::kEnded, JobEnd::kOutOfMemory));
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kOutOfMemory);
}

TEST_F(JobTest, ARequeueAfterTheStartEndsTheLeaseAndCancelsTheNewJobIdentity) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7, 1))}});
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7, 1));
}

TEST_F(JobTest, ARequeueBeforeTheStartIsOnlyANewJobIdentity) {
  given_queued();
  polled(view(JobState::kQueued, JobEnd::kNone, job(7, 1)));
  EXPECT_EQ(state(), LeaseState::kQueued);
  EXPECT_EQ(core.leases()[0].job, job(7, 1));
  tell(connected(0));
  EXPECT_EQ(count<EndWorker>(), 1u);
  tell(connected(1));
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(JobTest, AWorkerOfARequeuedJobIsSentAwayAndTheJobCancelled) {
  given_busy();
  link = WorkerLink{2};
  tell(connected(1));
  EXPECT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(state(), LeaseState::kEnding);
  EXPECT_EQ(count<CancelJob>(), 0u);  // a requeue changes the submit time: not before a reconciliation has told it
  reconciled_jobs({view(JobState::kRunning, JobEnd::kNone, job(7, 1))});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7, 1));
}

TEST_F(JobTest, NothingIsCancelledByItsIdAlone) {
  given_submitting();
  tell(Submitted{lease(1), JobIdentity{SlurmJobId{7}, 0, 0}});
  demand(0);
  EXPECT_EQ(count<CancelJob>(), 0u);
  reconciled_jobs({view(JobState::kQueued)});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
}

TEST_F(JobTest, SlowNewsOfAJobThatIsEndingByItselfIsNotBelieved) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  tell(Polled{std::vector{view(JobState::kEnding)}});
  polled(view(JobState::kRunning));
  EXPECT_EQ(state(), LeaseState::kEnding);
  EXPECT_EQ(core.counters().cancels, 0u);
}

TEST_F(JobTest, OldNewsOfAnEarlierJobIdentityIsIgnored) {
  given_queued();
  polled(view(JobState::kQueued, JobEnd::kNone, job(7, 1)));
  polled(view(JobState::kEnded, JobEnd::kNodeFail, job(7, 0)));
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(JobTest, ARecycledJobIdIsNotOurs) {
  given_queued();
  JobView stranger = view(JobState::kEnded, JobEnd::kCompleted, JobIdentity{SlurmJobId{7}, 999999, 0});
  stranger.instance.reset();
  stranger.lease.reset();
  polled(stranger);
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(JobTest, TheSubmitTimeIsTakenFromSlurmWhenTheSubmissionDidNotTellIt) {
  given_submitting();
  tell(Submitted{lease(1), JobIdentity{SlurmJobId{7}, 0, 0}});
  polled(view(JobState::kQueued));
  EXPECT_EQ(core.leases()[0].job, job(7));
}

TEST_F(JobTest, PollsWidenFromTwoSecondsToThirty) {
  given_queued();
  std::vector<std::chrono::seconds> waits;
  TimePoint last = now;
  for (int i = 0; i < 7; ++i) {
    wait_for<PollJobs>();
    waits.push_back(std::chrono::duration_cast<std::chrono::seconds>(now - last));
    last = now;
    tell(Polled{std::vector{view(JobState::kQueued)}});
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(2s, 2s, 4s, 8s, 16s, 30s, 30s));
}

TEST_F(JobTest, AllPendingJobsAreOnePoll) {
  given_queued();
  open(2);
  demand(1, 0, one_gpu(), 2);
  tell(Submitted{lease(2), job(8)});
  wait_for<PollJobs>();
  EXPECT_EQ(only<PollJobs>()[0].jobs, (std::vector{job(7), job(8)}));
}

TEST_F(JobTest, NeverTwoPollsAtATime) {
  given_queued();
  wait_for<PollJobs>();
  advance_alive(120s);
  EXPECT_EQ(count<PollJobs>(), 0u);
}

TEST_F(JobTest, AJobThatNeverGetsItsWorkerUpIsTriedThreeTimes) {
  given_queued();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    polled(view(JobState::kEnded, JobEnd::kFailed, job(6 + attempt), attempt));
    EXPECT_EQ(count<TellRequestFailed>(), 0u);
    wait_for<SubmitJob>();
    tell(Submitted{lease(attempt + 1), job(7 + attempt)});
  }
  polled(view(JobState::kEnded, JobEnd::kFailed, job(9), 3));
  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  advance_alive(60s);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(JobTest, AJobThatSlurmCouldNotStartIsTriedAgainSoon) {
  given_queued();
  polled(view(JobState::kRunning));
  polled(view(JobState::kEnded, JobEnd::kNotStarted));
  ASSERT_GE(count<TellStatus>(), 1u);
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kRetrySoon);
  const TimePoint ended = now;
  wait_for<SubmitJob>();
  EXPECT_EQ(now - ended, 2s);
}

// The looks widened, so that the next job was requested a minute after root had ended the last.
TEST_F(JobTest, WhileTheRecordOfAnEndIsLateTheLooksDoNotWiden) {
  given_queued();
  polled(view(JobState::kRunning));
  for (int late = 0; late < 4; ++late) polled(view(JobState::kEnding));
  const TimePoint last = now;
  polled(view(JobState::kEnded, JobEnd::kNotStarted));
  EXPECT_EQ(now - last, 2s);
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kRetrySoon);
}

TEST_F(JobTest, APollSaysOfWhichJobsNoWorkerHasCome) {
  given_queued();
  wait_for<PollJobs>();
  EXPECT_EQ(only<PollJobs>()[0].unheard, std::vector{job(7).job});
  tell(Polled{std::vector{view(JobState::kRunning)}});
  tell(connected());
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  EXPECT_EQ(only<PollJobs>()[0].unheard, std::vector<SlurmJobId>{});
}

// A reconciliation took what root cancelled for a user's order, and the next job was requested a minute later.
TEST_F(JobTest, AReconciliationSaysItToo) {
  given_queued();
  wait_for<ReconcileJobs>();
  EXPECT_EQ(only<ReconcileJobs>()[0].unheard, std::vector{job(7).job});
  tell(ReconcileDone{std::vector{view(JobState::kEnding)}});
  reconciled_jobs({view(JobState::kEnded, JobEnd::kNotStarted)});
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kRetrySoon);
}

TEST_F(JobTest, AJobThatTwoReconcilesDoNotShowIsGone) {
  given_queued();
  reconciled_jobs({});
  EXPECT_EQ(state(), LeaseState::kQueued);
  reconciled_jobs({});
  EXPECT_EQ(state(), std::nullopt);
}

TEST_F(JobTest, ALiveWorkerOutranksAReconcileThatDoesNotShowItsJob) {
  given_busy();
  for (int reconcile = 0; reconcile < 3; ++reconcile) {
    do {
      advance_alive(1s, 1);
    } while (count<ReconcileJobs>() == 0);
    tell(ReconcileDone{std::vector<JobView>{}});
  }
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(JobTest, AnUnreachableSlurmKeepsEverything) {
  given_busy();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  for (int i = 0; i < 10; ++i) {
    wait_for<PollJobs>();
    tell(Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  }
  EXPECT_EQ(state(), LeaseState::kBusy);
}

}  // namespace
}  // namespace pounce::lease
