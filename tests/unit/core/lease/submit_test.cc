// From demand to a job.
#include <limits>

#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

using ::testing::IsEmpty;

class SubmitTest : public LeaseTest {};

// The fuzzer of sequences found it: their sum was 0, and the core asked for a lease and gave it up for ever.
TEST_F(SubmitTest, CountsWhoseSumWrapsAreADemand) {
  start();
  open();
  demand(1, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(SubmitTest, NothingIsSubmittedBeforeAReconcileHasSucceeded) {
  tell(JournalRead{});
  EXPECT_EQ(count<ReconcileJobs>(), 1u);
  open();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(), LeaseState::kRequested);

  tell(ReconcileDone{std::vector<JobView>{}});

  EXPECT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(state(), LeaseState::kSubmitting);
}

TEST_F(SubmitTest, WritesTheIntentBeforeItSubmits) {
  start();
  open();
  demand(1);

  ASSERT_EQ(count<RecordIntent>(), 1u);
  std::size_t intent = 0, submission = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (std::holds_alternative<RecordIntent>(actions[i])) intent = i;
    if (std::holds_alternative<SubmitJob>(actions[i])) submission = i;
  }
  EXPECT_LT(intent, submission);
  EXPECT_EQ(only<RecordIntent>()[0].record.lease, only<SubmitJob>()[0].lease);
  EXPECT_EQ(only<RecordIntent>()[0].record.session, session(1));
}

TEST_F(SubmitTest, SubmitsWithTheResourcesAndTheSessionOfTheRequest) {
  start();
  open();
  demand(3);

  EXPECT_EQ(only<SubmitJob>()[0].resources, one_gpu());
  EXPECT_EQ(only<SubmitJob>()[0].session, session(1));
}

TEST_F(SubmitTest, TheSameDemandTwiceIsOneJob) {
  given_submitting();
  demand(1);
  EXPECT_THAT(actions, IsEmpty());
}

TEST_F(SubmitTest, MoreTasksOfOneRequestShareTheLease) {
  given_queued();
  demand(5);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(SubmitTest, TwoWantsAreTwoJobs) {
  start();
  open();
  tell(
      DemandChanged{session(1), {{RequestId{1}, one_gpu(), 1, 0, {}}, {RequestId{2}, resources("lion", 0), 1, 0, {}}}});
  EXPECT_EQ(count<SubmitJob>(), 2u);
}

TEST_F(SubmitTest, TwoSessionsWithEqualResourcesAreTwoJobs) {
  given_queued();
  open(2);
  demand(1, 0, one_gpu(), 2);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(SubmitTest, TellsTheUserEachState) {
  given_submitting();
  EXPECT_EQ(only<TellStatus>().back().state, LeaseState::kSubmitting);
  tell(Submitted{lease(1), job(7)});
  EXPECT_EQ(only<TellStatus>().back().state, LeaseState::kQueued);
  EXPECT_EQ(only<TellStatus>().back().job, SlurmJobId{7});
}

TEST_F(SubmitTest, TellsWhyAQueuedJobWaits) {
  given_queued();
  JobView waiting = view(JobState::kQueued);
  waiting.reason = "QOSMaxJobsPerUserLimit";
  waiting.class_name = "lion";
  waiting.limit = {"job", 4, 4, 1};
  waiting.start_time_s = 5000;

  polled(waiting);

  ASSERT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>()[0].why, (Cause{.code = CauseCode::kSlurmWaits, .word = "QOSMaxJobsPerUserLimit"}));
  EXPECT_EQ(only<TellStatus>()[0].waiting, job::waiting_of(waiting));
  EXPECT_EQ(only<TellStatus>()[0].start_estimate_s, 5000);
}

class RefusalTest : public LeaseTest, public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(RefusalTest, FailsTheRequestOnceAndIsNotSubmittedAgain) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(GetParam())});

  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(only<TellRequestFailed>()[0].error.code, GetParam());
  EXPECT_EQ(only<TellLeaseEnded>().at(0).lease, lease(1)) << "else its client shows it as being asked for, for ever";
  EXPECT_EQ(state(), std::nullopt);
  advance_alive(20s);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

INSTANTIATE_TEST_SUITE_P(EachClearRefusal, RefusalTest,
                         ::testing::Values(ErrorCode::kBadRequest, ErrorCode::kUnknownClass, ErrorCode::kNoAssociation,
                                           ErrorCode::kUnsatisfiable, ErrorCode::kRejected, ErrorCode::kNoSlurm,
                                           ErrorCode::kSlurmConfig, ErrorCode::kRefusesRoot,
                                           ErrorCode::kDaemonUnavailable));

TEST_F(SubmitTest, TheSameDemandAfterARefusalIsToldTheRefusalAgain) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kUnknownClass)});
  demand(1);
  EXPECT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(SubmitTest, AChangedDemandAfterARefusalIsSubmittedAsANewLease) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kUnknownClass)});
  demand(0);
  demand(1);
  ASSERT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(only<SubmitJob>()[0].lease, lease(2));
}

class DoubtTest : public LeaseTest, public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(DoubtTest, ReconcilesBeforeItDecidesAnything) {
  given_submitting();
  advance(3s);
  tell(SubmitFailed{lease(1), trouble(GetParam())});
  EXPECT_EQ(count<ReconcileJobs>(), 1u);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(), LeaseState::kSubmitting);
}

INSTANTIATE_TEST_SUITE_P(EachUnclearOutcome, DoubtTest,
                         ::testing::Values(ErrorCode::kOutcomeUnknown, ErrorCode::kSlurmUnreachable,
                                           ErrorCode::kTimeout, ErrorCode::kInternal));

TEST_F(SubmitTest, AJobThatAReconcileFindsAfterADoubtIsTheLeasesJob) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  reconciled_jobs({view(JobState::kQueued)});
  EXPECT_EQ(state(), LeaseState::kQueued);
  EXPECT_EQ(core.leases()[0].job, job(7));
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(SubmitTest, WhatLeftItOpenIsToldWhileTheJobIsLookedFor) {
  given_submitting();

  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});

  const Cause reason = core.leases()[0].reason;
  EXPECT_EQ(reason.code, CauseCode::kLooking);
  EXPECT_EQ(reason.because, std::vector{cause_of(trouble(ErrorCode::kOutcomeUnknown))});
}

TEST_F(SubmitTest, OneReconcileWithoutTheJobProvesNothing) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  reconciled_jobs({});
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(), LeaseState::kSubmitting);
  reconciled_jobs({view(JobState::kQueued)});
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(SubmitTest, TwoReconcilesWithoutTheJobMakeANewLeaseId) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  reconciled_jobs({});
  reconciled_jobs({});
  EXPECT_EQ(state(), std::nullopt);
  wait_for<SubmitJob>();
  EXPECT_EQ(only<SubmitJob>()[0].lease, lease(2));
}

TEST_F(SubmitTest, AReconcileThatBeganBeforeTheDoubtProvesNothing) {
  given_submitting();
  wait_for<ReconcileJobs>();  // the regular one, while the submission is under way
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  tell(ReconcileDone{std::vector<JobView>{}});
  reconciled_jobs({});
  EXPECT_EQ(state(), LeaseState::kSubmitting);
}

TEST_F(SubmitTest, ASubmissionUnderWayIsNotAbsent) {
  given_submitting();
  reconciled_jobs({});
  reconciled_jobs({});
  reconciled_jobs({});
  EXPECT_EQ(state(), LeaseState::kSubmitting);
}

TEST_F(SubmitTest, ALateJobOfAnEndedLeaseIsCancelled) {
  given_submitting();
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  reconciled_jobs({});
  reconciled_jobs({});
  reconciled_jobs({view(JobState::kQueued)});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
}

TEST_F(SubmitTest, TriesAgainLaterEachTimeAfterDoubts) {
  given_submitting();
  std::vector<TimePoint> tries;
  for (int round = 1; round <= 3; ++round) {
    tell(SubmitFailed{lease(round), trouble(ErrorCode::kOutcomeUnknown)});
    reconciled_jobs({});
    reconciled_jobs({});
    wait_for<SubmitJob>();
    tries.push_back(now);
  }
  EXPECT_LT(tries[1] - tries[0], tries[2] - tries[1]);
}

TEST_F(SubmitTest, DemandGoneDuringTheSubmissionCancelsTheJobWhenItIsKnown) {
  given_submitting();
  demand(0);
  EXPECT_EQ(state(), LeaseState::kSubmitting);
  tell(Submitted{lease(1), job(7)});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
  EXPECT_EQ(state(), LeaseState::kEnding);
}

TEST_F(SubmitTest, AWorkersHelloBeforeTheReplyIsProofOfTheJob) {
  given_submitting();
  tell(connected());
  EXPECT_EQ(state(), LeaseState::kStarting);
  tell(SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)});
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(SubmitTest, DoesNotSubmitWhileSlurmIsUnreachable) {
  given_queued();
  wait_for<PollJobs>();
  tell(Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  EXPECT_EQ(count<ReconcileJobs>(), 1u);
  open(2);
  demand(1, 0, one_gpu(), 2);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(2), LeaseState::kRequested);
  tell(ReconcileDone{std::vector{view(JobState::kQueued)}});
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(SubmitTest, TellsThatSlurmIsUnreachableAndThatItIsBack) {
  given_queued();
  wait_for<PollJobs>();
  tell(Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  ASSERT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(only<TellStatus>()[0].why.code, CauseCode::kSlurmSilent);
  EXPECT_EQ(state(), LeaseState::kQueued);
  polled(view(JobState::kQueued));
  ASSERT_GE(count<TellStatus>(), 1u);
  EXPECT_NE(only<TellStatus>().back().why.code, CauseCode::kSlurmSilent);
}

}  // namespace
}  // namespace pounce::lease
