// A user asks for a lease back: when it is idle, or now.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class ReleaseTest : public LeaseTest {
 protected:
  void release(bool at_once) {
    tell(ReleaseAsked{lease(1), at_once, {ErrorCode::kLeaseEnded, "Released by a test.", {}, {}}});
  }
};

TEST_F(ReleaseTest, AnIdleLeaseIsGivenBackAtOnceUnlessATaskJustArrived) {
  given_idle();
  release(false);
  EXPECT_EQ(state(), LeaseState::kDraining);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_TRUE(only<EndWorker>()[0].only_if_idle);
}

TEST_F(ReleaseTest, ABusyLeaseServesItsTasksFirstAndIsThenNotKeptWarm) {
  given_busy();
  release(false);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_TRUE(actions.empty());
  demand(0);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(ReleaseTest, ATaskThatCrossedTheReleaseIsServedAndTheReleaseIsNotForgotten) {
  given_idle();
  release(false);
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  EXPECT_EQ(state(), LeaseState::kBusy);
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(ReleaseTest, AQueuedLeaseKeepsItsPlaceWhileTasksWaitForIt) {
  given_queued();
  release(false);
  EXPECT_EQ(state(), LeaseState::kQueued);
  EXPECT_EQ(count<CancelJob>(), 0u);
  EXPECT_TRUE(core.leases()[0].release_asked);
}

TEST_F(ReleaseTest, NowEndsABusyLeaseAndFailsWhatWaitsWithTheReason) {
  given_busy();
  release(true);
  EXPECT_EQ(state(), LeaseState::kDraining);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_FALSE(only<EndWorker>()[0].only_if_idle);
  ASSERT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(only<TellRequestFailed>()[0].error.text, "Released by a test.");
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.code, ErrorCode::kLeaseEnded);
}

TEST_F(ReleaseTest, NowTellsARequestOfWhichEverythingRunsOnlyOfTheLeasesEnd) {
  given_busy();
  demand(0, 1);
  release(true);
  EXPECT_EQ(count<TellRequestFailed>(), 0u);  // it would be told again for each repetition of that demand
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(ReleaseTest, NowWithdrawsAQueuedJob) {
  given_queued();
  release(true);
  EXPECT_EQ(state(), LeaseState::kEnding);
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(ReleaseTest, NowCancelsAJobThatIsOnlyJustBeingSubmitted) {
  given_submitting();
  release(true);
  EXPECT_EQ(count<TellRequestFailed>(), 1u);
  tell(Submitted{lease(1), job(7)});
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
}

TEST_F(ReleaseTest, NowWithdrawsALeaseOfWhichSlurmHasNotHeard) {
  tell(JournalRead{});
  open();
  demand(1);
  ASSERT_EQ(state(), LeaseState::kRequested);
  release(true);
  EXPECT_EQ(state(), std::nullopt);
  EXPECT_EQ(count<TellRequestFailed>(), 1u);
  EXPECT_EQ(leases_made, 1);
}

TEST_F(ReleaseTest, ADemandThatWasOnItsWayStartsNoOtherJob) {
  given_busy();
  release(true);
  demand(2);  // said before the client heard of the end
  EXPECT_EQ(state(2), LeaseState::kRequested);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

TEST_F(ReleaseTest, TasksThatComeAfterwardsGetALeaseOfTheirOwn) {
  given_busy();
  release(true);
  demand(0);
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(state(2), LeaseState::kSubmitting);
}

TEST_F(ReleaseTest, ACallMadeAtOnceAfterwardsGetsALeaseOfItsOwn) {
  given_busy();
  release(true);
  new_calls(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(ReleaseTest, NowHurriesALeaseThatWasLeavingWhenIdle) {
  given_idle();
  release(false);
  release(true);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_FALSE(only<EndWorker>()[0].only_if_idle);
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(ReleaseTest, ALeaseThatEndsKeepsItsOwnReason) {
  given_ending();
  release(true);
  EXPECT_EQ(core.leases()[0].reason.code, CauseCode::kNothingWaits);
}

TEST_F(ReleaseTest, AnUnknownLeaseIsIgnored) {
  given_idle();
  tell(ReleaseAsked{lease(9), true, trouble(ErrorCode::kLeaseEnded)});
  EXPECT_TRUE(actions.empty());
}

}  // namespace
}  // namespace pounce::lease
