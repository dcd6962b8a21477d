// A task starts at most once, unless the user allowed more; each lost one ends with the reason of the loss.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class LossTest : public TaskTest {};

class EndOfALease : public TaskTest, public testing::WithParamInterface<ErrorCode> {};

TEST_P(EndOfALease, IsTheEndOfItsRunningTaskWithTheSameReason) {
  one_running();
  EXPECT_THAT(lease_ends(1, GetParam()), ElementsAre("fail t1 " + std::string(wire_name(GetParam())), "disconnect w1"));
}

INSTANTIATE_TEST_SUITE_P(, EndOfALease,
                         testing::Values(ErrorCode::kJobCancelled, ErrorCode::kWalltimeReached, ErrorCode::kOutOfMemory,
                                         ErrorCode::kPreempted, ErrorCode::kNodeFailed, ErrorCode::kLeaseEnded),
                         [](const auto& info) { return std::string(wire_name(info.param)); });

TEST_F(LossTest, ACrashEndsTheTaskWithTheCrashAndNotTheLease) {
  one_running();
  EXPECT_THAT(dies(1), ElementsAre("fail t1 worker_crashed", "disconnect w1"));
  EXPECT_EQ(machine.demand().at(0).holds.size(), 1u);
}

TEST_F(LossTest, WaitingTasksOutliveTheLossOfALeaseAndGoElsewhere) {
  one_running();
  submit(2);
  lease_ends(1, ErrorCode::kNodeFailed);
  grant(2);
  EXPECT_THAT(attach(2), ElementsAre("send t2 w2"));
}

TEST_F(LossTest, TheNextInterpreterOfTheSameWorkerGetsTheWaitingTasks) {
  one_running();
  submit(2);
  dies(1);
  EXPECT_THAT(grant(1, 2), ElementsAre("connect w1.2"));
  EXPECT_THAT(attach(1, 2), ElementsAre("send t2 w1"));
}

TEST_F(LossTest, RetriesRunALostTaskAgainBeforeLaterOnesUntilTheyAreUsedUp) {
  one_running(/*retries=*/1);
  submit(2);
  EXPECT_THAT(dies(1), ElementsAre("disconnect w1"));
  grant(1, 2);
  EXPECT_THAT(attach(1, 2), ElementsAre("send t1 w1 attempt 1"));
  EXPECT_THAT(dies(1, ErrorCode::kOutOfMemory, 2), ElementsAre("fail t1 out_of_memory", "disconnect w1"));
}

TEST_F(LossTest, ATaskThatMetTheEndOfItsWorkersTimeRunsAgainElsewhereIfItMay) {
  one_running(/*retries=*/1);
  submit(2);
  EXPECT_THAT(happens(OutcomeArrived{place(1), Epoch{1}, task(1), /*at_limit=*/true}), ElementsAre("ack t1"));
  EXPECT_THAT(lease_ends(1, ErrorCode::kWalltimeReached), ElementsAre("disconnect w1"));
  grant(2);
  EXPECT_THAT(attach(2), ElementsAre("send t1 w2 attempt 1"));
  EXPECT_THAT(happens(OutcomeArrived{place(2), Epoch{1}, task(1), /*at_limit=*/true}),
              ElementsAre("ack t1", "deliver t1", "send t2 w2"));
}

TEST_F(LossTest, AJobThatSomebodyCancelledIsNotRetried) {
  one_running(/*retries=*/5);
  EXPECT_THAT(lease_ends(1, ErrorCode::kJobCancelled), ElementsAre("fail t1 job_cancelled", "disconnect w1"));
}

TEST_F(LossTest, ADeathThatIsToldTwiceCountsOnce) {
  one_running();
  dies(1);
  EXPECT_THAT(dies(1), IsEmpty());
}

TEST_F(LossTest, ADeathOfAnEarlierInterpreterLeavesTheNewOneAlone) {
  one_running();
  dies(1);
  grant(1, 2);
  attach(1, 2);
  submit(2);
  EXPECT_THAT(dies(1, ErrorCode::kWorkerCrashed, 1), IsEmpty());
  EXPECT_EQ(machine.state(task(2)), TaskState::kSent);
}

TEST_F(LossTest, AGrantThatADeathOvertookIsNotConnectedTo) {
  submit(1);
  grant(1);
  dies(1);
  EXPECT_THAT(grant(1, 1), IsEmpty());
}

TEST_F(LossTest, ARepeatedGrantLeavesTheConnectionAsItIs) {
  one_running();
  EXPECT_THAT(grant(1), IsEmpty());
  EXPECT_EQ(machine.state(task(1)), TaskState::kRunning);
}

TEST_F(LossTest, AGrantOfALaterInterpreterTellsTheDeathOfTheEarlierOne) {
  one_running();
  EXPECT_THAT(grant(1, 2), ElementsAre("fail t1 worker_crashed", "disconnect w1", "connect w1.2"));
}

TEST_F(LossTest, AWorkerOutOfReachIsWaitedForAndAskedWhenItIsBack) {
  one_running();
  unreachable(1);
  EXPECT_THAT(submit(2), IsEmpty());
  EXPECT_THAT(attach(1), ElementsAre("query w1 t1"));
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kRunning), IsEmpty());
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1", "send t2 w1"));
}

TEST_F(LossTest, ATaskThatNeverArrivedIsSentAgain) {
  submit(1);
  grant(1);
  attach(1);
  unreachable(1);
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kUnknown), ElementsAre("send t1 w1"));
}

// It went to a second worker by the second answer, and ran on both. (Seed 7011294)
TEST_F(LossTest, AnAnswerThatComesTwiceSaysNothingOfATaskSentSince) {
  submit(1);
  grant(1);
  attach(1);
  unreachable(1);
  attach(1);
  answer(1, 1, RemoteTaskState::kUnknown);
  grant(2);
  attach(2);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kUnknown), IsEmpty());
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1"));
}

TEST_F(LossTest, AnAnswerThatComesTwiceTakesOneRetry) {
  one_running(2);
  unreachable(1);
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kForgotten), ElementsAre("send t1 w1 attempt 1"));
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kForgotten), IsEmpty());
}

// Its job was ended by the batch system: what had not started there was lost with it, as if it might have run.
TEST_F(LossTest, WhatAWorkerThatLeavesHasNotStartedGoesElsewhere) {
  two_sent();
  EXPECT_THAT(leaves(1, {2}), IsEmpty());
  EXPECT_THAT(lease_ends(1, ErrorCode::kPreempted), ElementsAre("fail t2 preempted", "disconnect w1"));
  grant(2);
  EXPECT_THAT(attach(2), Contains("send t3 w2"));
}

TEST_F(LossTest, WhatAWorkerThatLeavesHasNotStartedEndsWithAJobThatSomebodyCancelled) {
  two_sent();
  leaves(1, {2});
  EXPECT_THAT(lease_ends(1, ErrorCode::kJobCancelled),
              ElementsAre("fail t2 job_cancelled", "fail t3 lost", "disconnect w1"));
}

TEST_F(LossTest, WhatAWorkerThatLeavesHasNotStartedEndsWithALeaseThatSomebodyReleased) {
  two_sent();
  leaves(1, {2});
  const Error released = error_of(ErrorCode::kLeaseEnded, Cause{CauseCode::kReleased});
  EXPECT_THAT(happens(LeaseLost{RequestId{1}, place(1).lease, released}),
              ElementsAre("fail t2 lease_ended", "fail t3 lost", "disconnect w1"));
}

// It saves its variables, which takes a while: what is sent to it meanwhile would be under way when it has gone.
TEST_F(LossTest, AWorkerThatEndsGetsNoTaskAgainAndItsTaskRunsOnTheNext) {
  submit(1);
  grant(1);
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kEnding), IsEmpty());
  EXPECT_THAT(submit(2), IsEmpty());
  EXPECT_THAT(lease_ends(1, ErrorCode::kLeaseEnded), ElementsAre("disconnect w1"));
  grant(2);
  EXPECT_THAT(attach(2), ElementsAre("send t1 w2"));
}

TEST_F(LossTest, AStartedTaskThatItsWorkerHasForgottenMayHaveExecuted) {
  one_running();
  unreachable(1);
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kUnknown), ElementsAre("fail t1 lost"));
}

// Its session had been silent for so long that it was dismissed there, and nothing had told us that the task ran.
TEST_F(LossTest, ATaskThatRanAndIsForgottenIsNotSentAgain) {
  submit(1);
  grant(1);
  attach(1);
  unreachable(1);
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kForgotten), ElementsAre("fail t1 lost"));
}

TEST_F(LossTest, ACancelThatCouldNotBeSentIsSentWhenTheWorkerIsBack) {
  one_running();
  unreachable(1);
  EXPECT_THAT(happens(CancelRequested{task(1)}), IsEmpty());
  attach(1);
  EXPECT_THAT(answer(1, 1, RemoteTaskState::kRunning), ElementsAre("cancel t1 w1"));
}

TEST_F(LossTest, AWorkerSilentForLongerThanItsWatchdogTimerHasEndedItself) {
  one_running();
  unreachable(1);
  EXPECT_EQ(machine.next_deadline(), std::min(machine.next_deadline(), now + 16min));
  EXPECT_THAT(passes(16min - 1s), ElementsAre("unreachable w1"));
  now += 1s;
  EXPECT_THAT(happens(TimePassed{}), ElementsAre("fail t1 lost", "disconnect w1"));
}

TEST_F(LossTest, AUserIsToldThatTheirWorkerIsUnreachableOnceAndWhenItIsBack) {
  one_running();
  unreachable(1);
  EXPECT_THAT(passes(5s - 1ms), IsEmpty());
  EXPECT_EQ(machine.next_deadline(), now + 1ms);
  EXPECT_THAT(passes(1ms), ElementsAre("unreachable w1"));
  EXPECT_THAT(passes(1min), IsEmpty());
  EXPECT_THAT(attach(1), ElementsAre("reachable w1", "query w1 t1"));
}

TEST_F(LossTest, ADeathThatFollowsItsBrokenConnectionIsNotCalledUnreachable) {
  one_running();
  unreachable(1);
  now += 4s;
  EXPECT_THAT(dies(1), ElementsAre("fail t1 worker_crashed", "disconnect w1"));
  EXPECT_THAT(passes(1min), IsEmpty());
}

TEST_F(LossTest, ASilentWorkerIsToldAndGetsNothingNewAndIsNotAskedAgainWhenItIsHeard) {
  one_running();
  silent(1);
  submit(2);
  EXPECT_THAT(passes(5s), ElementsAre("unreachable w1"));
  EXPECT_THAT(happens(CancelRequested{task(1)}), ElementsAre("cancel t1 w1")) << "its connection stands";
  EXPECT_THAT(heard(1), ElementsAre("reachable w1"));
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1", "send t2 w1"));
}

TEST_F(LossTest, AnIdleWorkerOutOfReachIsNoNews) {
  one_running();
  outcome(1, 1);
  unreachable(1);
  EXPECT_THAT(passes(1min), IsEmpty());
  submit(2);
  EXPECT_THAT(passes(0s), ElementsAre("unreachable w1"));
}

TEST_F(LossTest, AWorkerThatCanNeverBeReachedIsTold) {
  submit(1);
  grant(1);
  EXPECT_THAT(passes(5s), ElementsAre("unreachable w1"));
}

TEST_F(LossTest, ATaskThatADeadInterpreterNeverStartedIsSentElsewhere) {
  two_sent();
  happens(CancelRequested{task(2), 1s});
  EXPECT_THAT(happens(WorkerDied{place(1), Epoch{1}, {ErrorCode::kCancelled, "", {}, {}}, {{task(2)}}}),
              ElementsAre("fail t2 cancelled", "disconnect w1"));
  grant(1, 2);
  EXPECT_THAT(attach(1, 2), ElementsAre("send t3 w1"));
}

TEST_F(LossTest, ATaskThatWasBeingCancelledIsNotSentElsewhere) {
  submit(1);
  grant(1);
  attach(1);
  happens(CancelRequested{task(1), 1s});
  EXPECT_THAT(happens(WorkerDied{place(1), Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}, std::vector<TaskId>{}}),
              ElementsAre("fail t1 cancelled", "disconnect w1"));
}

TEST_F(LossTest, AnotherTasksKillIsNotTheEndOfOneThatMayHaveRun) {
  two_sent();
  happens(CancelRequested{task(3), 1s});
  EXPECT_THAT(dies(1, ErrorCode::kCancelled), ElementsAre("fail t2 lost", "fail t3 cancelled", "disconnect w1"));
}

TEST_F(LossTest, TheSecondTaskInAWindowMayHaveExecutedWhenTheFirstTookTheWorkerDown) {
  two_sent();
  EXPECT_THAT(dies(1), ElementsAre("fail t2 worker_crashed", "fail t3 lost", "disconnect w1"));
}

// ---- a job that the batch system starts a second time, which counts its interpreters from the same epoch again ----

TEST_F(LossTest, AGrantWithAnotherKeyIsOfAnotherInterpreterWhateverItsEpoch) {
  for (const std::uint32_t epoch : {1u, 2u, 3u}) {
    machine = Machine();
    submit(1);
    grant(1, 2, 1);
    attach(1, 2);
    EXPECT_THAT(grant(1, epoch, 2), ElementsAre(epoch > 2 ? "fail t1 worker_crashed" : "fail t1 lost", "disconnect w1",
                                                "connect w1." + std::to_string(epoch)));
    submit(2);
    EXPECT_THAT(attach(1, epoch), ElementsAre("send t2 w1"));
  }
}

TEST_F(LossTest, TheEndOfALostTaskNamesItsLease) {
  submit(1);
  grant(1, 1, 1);
  attach(1);
  const auto lost = everything(WorkerGranted{RequestId{1}, place(1), Epoch{2}, key(2)});
  EXPECT_EQ(std::get<Fail>(lost.front()).lease, place(1).lease);
}

TEST_F(LossTest, TheEndOfATaskThatWasNotLostNamesNoLease) {
  submit(1);
  const auto refused = everything(RequestRefused{RequestId{1}, {ErrorCode::kRejected, "no", {}, {}}});
  EXPECT_EQ(std::get<Fail>(refused.front()).lease, LeaseId{});
}

TEST_F(LossTest, WhatTheFirstRunOfAJobThatWasStartedTwiceLostRunsAgainIfItMay) {
  submit(1, 1);
  grant(1, 1, 1);
  attach(1);
  EXPECT_THAT(grant(1, 1, 2), ElementsAre("disconnect w1", "connect w1.1"));
  EXPECT_THAT(attach(1), ElementsAre("send t1 w1 attempt 1"));
}

TEST_F(LossTest, ARepeatedGrantWithTheSameKeyLeavesTheConnection) {
  submit(1);
  grant(1, 1, 1);
  attach(1);
  EXPECT_THAT(grant(1, 1, 1), IsEmpty());
}

TEST_F(LossTest, ADeathOfTheFirstRunIsNotThatOfTheSecondOneWithTheSameEpoch) {
  submit(1);
  grant(1, 1, 1);
  grant(1, 1, 2);
  attach(1);
  EXPECT_THAT(
      happens(WorkerDied{place(1), Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}, std::vector<TaskId>{}, key(1)}),
      IsEmpty());
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1"));
}

TEST_F(LossTest, AnInterpreterOfTheSecondRunMayHaveTheEpochOfADeadOneOfTheFirst) {
  submit(1);
  grant(1, 1, 1);
  happens(WorkerDied{place(1), Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}, {}, key(1)});
  EXPECT_THAT(grant(1, 1, 1), IsEmpty()) << "its death overtook it";
  EXPECT_THAT(grant(1, 1, 2), ElementsAre("connect w1.1"));
}

TEST_F(LossTest, AnInterpreterThatRefusedUsIsNotAskedAgain) {
  submit(1);
  grant(1, 1, 1);
  happens(WorkerRefusedUs{place(1), Epoch{1}, {ErrorCode::kVersionMismatch, "", {}, {}}});
  submit(2);
  EXPECT_THAT(grant(1, 1, 1), IsEmpty());
  EXPECT_THAT(grant(1, 1, 2), ElementsAre("connect w1.1"));
}

}  // namespace pounce::task
