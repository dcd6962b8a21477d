// Clients that come, fall silent, go and come back.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class SessionTest : public LeaseTest {};

TEST_F(SessionTest, AClosedSessionGivesItsLeaseBackAtOnce) {
  given_busy();
  tell(SessionClosed{session(1)});
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_FALSE(only<EndWorker>()[0].only_if_idle);
  EXPECT_EQ(count<DismissClient>(), 1u);
  EXPECT_EQ(core.session_count(), 0u);
}

TEST_F(SessionTest, AClosedSessionsQueuedJobIsCancelled) {
  given_queued();
  tell(SessionClosed{session(1)});
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(SessionTest, AClosedSessionsSubmissionIsCancelledWhenItIsKnown) {
  given_submitting();
  tell(SessionClosed{session(1)});
  tell(Submitted{lease(1), job(7)});
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(SessionTest, ASilentSessionsTaskIsCancelledAndItsLeaseEnded) {
  given_busy();
  advance(29s);
  EXPECT_EQ(count<DismissClient>(), 0u);
  advance(1s);
  EXPECT_EQ(count<DismissClient>(), 1u);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

TEST_F(SessionTest, ASessionThatStaysIsNeverSilentAndEndsWhenItIsClosed) {
  given_busy();
  tell(SessionOpened{session(1), true});
  for (int i = 0; i < 600; ++i) {
    advance(1s);
    EXPECT_EQ(count<DismissClient>() + count<EndWorker>(), 0u);
    tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  }

  tell(SessionClosed{session(1)});
  EXPECT_EQ(count<EndWorker>(), 1u);
}

// A task that goes on without its client: its lease ends with it, and not with the session.
class KeptTaskTest : public LeaseTest {
 protected:
  void runs_kept() {
    given_busy();
    tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 0, 1, {lease(1)}}}});
    variables = NamespaceState::kKept;
    beat(1);
  }
  void worker_beats(std::chrono::seconds time, std::uint32_t running) {
    std::vector<Action> all;
    for (auto second = 0s; second < time; second += 1s) {
      advance(1s);
      all.insert(all.end(), actions.begin(), actions.end());
      tell(WorkerSeen{lease(1), WorkerIndex{0}, link, running, 0, variables});
      all.insert(all.end(), actions.begin(), actions.end());
    }
    actions = std::move(all);
  }
};

TEST_F(KeptTaskTest, GoesOnWhenItsSessionIsClosedOrSilent) {
  runs_kept();
  tell(SessionClosed{session(1)});
  EXPECT_EQ(count<EndWorker>() + count<DismissClient>(), 0u);
  worker_beats(3600s, 1);
  EXPECT_EQ(count<EndWorker>() + count<DismissClient>(), 0u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(KeptTaskTest, ItsLeaseIsGivenBackSoonAfterItsEnd) {
  runs_kept();
  advance(40s);
  ASSERT_EQ(count<EndWorker>() + count<DismissClient>(), 0u);
  variables = NamespaceState::kSaved;
  worker_beats(61s, 0);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

TEST_F(KeptTaskTest, WhatWaitsBehindItAndIsNotKeptDoesNotHoldTheLease) {
  runs_kept();
  tell(SessionClosed{session(1)});
  worker_beats(40s, 2);
  ASSERT_EQ(count<EndWorker>(), 0u);
  variables = NamespaceState::kSaved;
  worker_beats(2s, 1);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

TEST_F(KeptTaskTest, AnotherSessionTakesTheLeaseWhenItHasEnded) {
  runs_kept();
  tell(SessionClosed{session(1)});
  open(2);
  demand(1, 0, one_gpu(), 2);
  EXPECT_EQ(count<DismissClient>(), 0u);
  EXPECT_EQ(core.leases().size(), 2u);  // it does not wait behind that task
  variables = NamespaceState::kSaved;
  worker_beats(1s, 0);
  open(3);
  demand(1, 0, one_gpu(), 3);
  const auto dismissed = only<DismissClient>();
  ASSERT_EQ(dismissed.size(), 1u);
  EXPECT_EQ(dismissed[0].session, session(1));
}

TEST_F(SessionTest, ASilentSessionsJobIsGoneWithinAMinute) {
  given_busy();
  const TimePoint silent = now;
  advance(30s);
  wait_for<CancelJob>();  // the worker did not go by itself
  EXPECT_LE(now - silent, 45s);
}

TEST_F(SessionTest, ABeatKeepsASession) {
  given_busy();
  advance_alive(120s, 1);
  EXPECT_EQ(count<DismissClient>(), 0u);
}

TEST_F(SessionTest, ASilentSessionIsToldTheEndOfALeaseThatIsAnothersByNow) {
  given_busy();
  tell(DemandChanged{session(2), {{RequestId{4}, one_gpu(), 0, 1, {lease(1)}}}});
  std::size_t told = 0, dismissed = 0;
  for (auto second = 0s; second < 40s; second += 1s) {
    advance(1s);
    for (const auto& one : only<TellLeaseEnded>())
      told += one.session == session(2) && one.request == RequestId{4} ? 1 : 0;
    for (const auto& one : only<DismissClient>()) dismissed += one.session == session(2) ? 1 : 0;
    beat(1);  // of session 1 and the worker
  }
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(dismissed, 1u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(SessionTest, ASessionThatFellSilentIsBackWithItsDemand) {
  start();
  open();
  advance(31s);
  EXPECT_EQ(core.session_count(), 0u);
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(SessionTest, ALateDemandOfAClosedSessionIsIgnored) {
  start();
  open();
  tell(SessionClosed{session(1)});
  demand(1);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(core.session_count(), 0u);
}

TEST_F(SessionTest, AClosedSessionMayOpenAgain) {
  start();
  open();
  tell(SessionClosed{session(1)});
  open();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(SessionTest, OpeningAgainRepeatsStatusAdmissionAndGrant) {
  given_busy();
  open();
  EXPECT_EQ(count<TellStatus>(), 1u);
  EXPECT_EQ(count<AdmitClient>(), 1u);
  EXPECT_EQ(count<GrantWorker>(), 1u);
}

TEST_F(SessionTest, NewsOfUnknownSessionsIsIgnoredAndCounted) {
  start();
  tell(SessionSeen{session(9)});
  tell(SessionClosed{session(9)});
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(core.counters().ignored, 2u);
}

TEST_F(SessionTest, TheDaemonEndsWhenItHadNothingToDoForHalfAnHour) {
  start();
  advance(1799s);
  EXPECT_EQ(count<EndDaemon>(), 0u);
  advance(1s);
  EXPECT_EQ(count<EndDaemon>(), 1u);
  advance(3600s);
  EXPECT_EQ(count<EndDaemon>(), 0u);
}

TEST_F(SessionTest, ASessionKeepsTheDaemon) {
  start();
  open();
  for (int minute = 0; minute < 60; ++minute) {
    advance(20s);
    tell(SessionSeen{session(1)});
    EXPECT_EQ(count<EndDaemon>(), 0u);
  }
}

TEST_F(SessionTest, WhoHoldsAnEndedLeaseIsToldAgain) {
  given_queued();
  polled(view(JobState::kEnded, JobEnd::kPreempted));
  tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 0, 0, {lease(1)}}}});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kPreempted);
}

// A suspended kernel: the end was told while it could not hear, and Slurm had not yet shown it when it came back.
TEST_F(SessionTest, WhoHoldsALeaseThatEndsIsToldAgain) {
  given_busy();
  advance(31s);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  ASSERT_EQ(state(), LeaseState::kDraining);
  tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 0, 1, {lease(1)}}}});
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].lease, lease(1));
}

TEST_F(SessionTest, WhoHoldsAnUnknownLeaseIsToldOnlyAfterAReconcile) {
  tell(JournalRead{});
  const DemandChanged holding{session(1), {{RequestId{1}, one_gpu(), 0, 1, {lease(9)}}}};
  tell(holding);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
  tell(ReconcileDone{std::vector<JobView>{}});
  tell(holding);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

// Found by the simulator: Slurm did not answer a new pounced until a stopped kernel was forgotten, which then held the
// lease for ever.
TEST_F(SessionTest, WhoFallsSilentBeforeTheFirstReconcileIsToldOfWhatItHeld) {
  tell(JournalRead{});
  tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 0, 0, {lease(9)}}}});
  tell(ReconcileDone{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  advance(defaults.orphan_grace + 1s);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].session, session(1));
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.context.at("lease"), lease(9).hex());
}

}  // namespace
}  // namespace pounce::lease
