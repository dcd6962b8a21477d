// The ordinary life of tasks: submitted, sent, started, done; and the user's own changes of mind.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(TaskTest, ATaskWaitsUntilAWorkerIsAttached) {
  EXPECT_THAT(submit(1), IsEmpty());
  EXPECT_THAT(grant(1), ElementsAre("connect w1.1"));
  EXPECT_EQ(machine.state(task(1)), TaskState::kWaiting);
  EXPECT_THAT(attach(1), ElementsAre("send t1 w1"));
  EXPECT_EQ(machine.state(task(1)), TaskState::kSent);
}

TEST_F(TaskTest, AWarmWorkerGetsATaskInTheSameStepAsTheSubmit) {
  one_running();
  outcome(1, 1);
  EXPECT_THAT(submit(2), ElementsAre("send t2 w1"));
}

TEST_F(TaskTest, AnOutcomeIsAcknowledgedDeliveredAndMakesRoomForTheNext) {
  one_running();
  submit(2);
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1", "send t2 w1"));
  EXPECT_EQ(machine.state(task(1)), std::nullopt);
}

TEST_F(TaskTest, AnOutcomeWithoutAStartIsAnEndToo) {
  submit(1);
  grant(1);
  attach(1);
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1"));
}

TEST_F(TaskTest, TasksGoInTheOrderOfSubmission) {
  for (int n : {1, 2, 3}) submit(n);
  grant(1);
  EXPECT_THAT(attach(1), ElementsAre("send t1 w1"));
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1", "send t2 w1"));
  EXPECT_THAT(outcome(1, 2), ElementsAre("ack t2", "deliver t2", "send t3 w1"));
}

TEST_F(TaskTest, ShortTasksAreSentAheadWhileAsManyWait) {
  machine = Machine(Settings{.window = 4});
  for (int n = 1; n <= 8; ++n) submit(n);
  grant(1);
  attach(1);
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1", "send t2 w1", "send t3 w1"));
  EXPECT_THAT(outcome(1, 2), ElementsAre("ack t2", "deliver t2", "send t4 w1", "send t5 w1"));
  EXPECT_THAT(outcome(1, 3), ElementsAre("ack t3", "deliver t3"));  // three wait: each for a worker that is free
  EXPECT_THAT(outcome(1, 4), ElementsAre("ack t4", "deliver t4"));
  EXPECT_THAT(outcome(1, 5), ElementsAre("ack t5", "deliver t5", "send t6 w1"));
}

TEST_F(TaskTest, NothingIsSentAheadOfWhatTakesLonger) {
  machine = Machine(Settings{.window = 2});
  for (int n = 1; n <= 9; ++n) submit(n);
  grant(1);
  attach(1);
  outcome(1, 1);  // now there are two
  now += 3ms;
  EXPECT_THAT(outcome(1, 2), ElementsAre("ack t2", "deliver t2"));
  now += 3ms;
  EXPECT_THAT(outcome(1, 3), ElementsAre("ack t3", "deliver t3", "send t4 w1"));
}

TEST_F(TaskTest, AfterAPauseNothingIsSentAheadUntilTasksAreSeenToBeShort) {
  machine = Machine(Settings{.window = 2});
  for (int n = 1; n <= 3; ++n) submit(n);
  grant(1);
  attach(1);
  for (int n = 1; n <= 3; ++n) outcome(1, n);
  submit(4);
  submit(5);
  EXPECT_THAT(submit(6), IsEmpty());
}

TEST_F(TaskTest, AWorkerServesOnlyTasksOfItsOwnRequest) {
  submit(1);
  grant(1);
  attach(1);
  outcome(1, 1);
  resources.gpus = 1;
  EXPECT_THAT(submit(2), IsEmpty());
  EXPECT_EQ(machine.request_of(task(2)), RequestId{2});
}

TEST_F(TaskTest, SeveralWorkersHaveOneTaskEachAndTheOthersWaitForWhicheverIsFreeFirst) {
  for (int n : {1, 2, 3, 4}) submit(n);
  for (int lease : {1, 2}) grant(lease);
  EXPECT_THAT(attach(1), ElementsAre("send t1 w1"));
  EXPECT_THAT(attach(2), ElementsAre("send t2 w2"));
  EXPECT_THAT(outcome(2, 2), ElementsAre("ack t2", "deliver t2", "send t3 w2"));
  EXPECT_THAT(outcome(2, 3), ElementsAre("ack t3", "deliver t3", "send t4 w2")) << "the first is still busy";
}

TEST_F(TaskTest, ATaskGoesToTheFreeWorkerThatHasMostOfItsData) {
  near = {{place(2), 100}, {place(3), 7}};
  for (int lease : {1, 2, 3}) grant(lease);
  submit(1);
  for (int lease : {1, 2, 3}) grant(lease), attach(lease);
  outcome(1, 1);
  EXPECT_THAT(submit(2), ElementsAre("send t2 w2"));
  EXPECT_THAT(submit(3), ElementsAre("send t3 w3"));
  EXPECT_THAT(submit(4), ElementsAre("send t4 w1")) << "it does not wait for those that are busy";
}

TEST_F(TaskTest, EqualResourcesShareARequest) {
  submit(1);
  submit(2);
  EXPECT_EQ(machine.request_of(task(1)), machine.request_of(task(2)));
}

TEST_F(TaskTest, TheSameSubmitTwiceIsOneTask) {
  submit(1);
  submit(1);
  EXPECT_EQ(machine.demand().at(0).waiting, 1u);
}

TEST_F(TaskTest, ARepeatedOutcomeIsAcknowledgedAgainAndCountedNotDelivered) {
  one_running();
  outcome(1, 1);
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1"));
  EXPECT_EQ(machine.late_results(), 1u);
}

TEST_F(TaskTest, AStartThatComesAfterTheEndChangesNothing) {
  one_running();
  outcome(1, 1);
  EXPECT_THAT(start(1, 1), IsEmpty());
}

TEST_F(TaskTest, CancellingAWaitingTaskEndsItAtOnce) {
  submit(1);
  EXPECT_THAT(happens(CancelRequested{task(1)}), ElementsAre("fail t1 cancelled"));
}

TEST_F(TaskTest, CancellingARunningTaskAsksItsWorkerAndTheOutcomeEndsIt) {
  one_running();
  EXPECT_THAT(happens(CancelRequested{task(1)}), ElementsAre("cancel t1 w1"));
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1"));
}

TEST_F(TaskTest, CancellingWhatHasNotStartedAsksTheWorkerOfWhatWasSentAhead) {
  two_sent();
  start(1, 2);
  EXPECT_THAT(happens(CancelRequested{task(2), 0s, true}), IsEmpty()) << "it runs";
  EXPECT_THAT(happens(CancelRequested{task(3), 0s, true}), ElementsAre("cancel t3 w1 if queued"));
  EXPECT_THAT(happens(CancelRequested{task(5), 0s, true}), ElementsAre("fail t5 cancelled"));
}

TEST_F(TaskTest, WhatWasToBeCancelledUnlessItHadStartedDoesNotStartAgain) {
  two_sent();
  happens(CancelRequested{task(3), 0s, true});
  attach(1);
  EXPECT_THAT(answer(1, 3, RemoteTaskState::kUnknown), Contains("fail t3 cancelled"));
}

TEST_F(TaskTest, AWorkerThatAttachesIsToldWhatWeCountOnThereAlsoWhenThatIsNothing) {
  submit(1);
  grant(1);
  const std::vector<Action> actions = everything(WorkerAttached{place(1), Epoch{1}});
  ASSERT_THAT(actions, testing::SizeIs(testing::Ge(2u)));
  ASSERT_TRUE(std::holds_alternative<SendQuery>(actions[0])) << "before anything is sent";
  EXPECT_THAT(std::get<SendQuery>(actions[0]).tasks, IsEmpty());
  EXPECT_EQ(std::visit(InWords{}, actions[1]), "send t1 w1");
}

TEST_F(TaskTest, WhatWasToBeCancelledUnlessItHadStartedIsAskedForAgainAfterAReconnection) {
  two_sent();
  happens(CancelRequested{task(3), 0s, true});
  EXPECT_THAT(answer(1, 3, RemoteTaskState::kQueued), ElementsAre("cancel t3 w1 if queued"));
  EXPECT_THAT(answer(1, 3, RemoteTaskState::kRunning), IsEmpty());
}

TEST_F(TaskTest, CancellingATaskThatHasEndedDoesNothing) {
  one_running();
  outcome(1, 1);
  EXPECT_THAT(happens(CancelRequested{task(1)}), IsEmpty());
}

TEST_F(TaskTest, ATaskThatWasBeingCancelledWhenItsWorkerDiedIsCancelled) {
  one_running(/*retries=*/3);
  happens(CancelRequested{task(1)});
  EXPECT_THAT(dies(1), ElementsAre("fail t1 cancelled", "disconnect w1"));
}

TEST_F(TaskTest, ARefusedRequestFailsWhatWaitsForItAndNothingThatRuns) {
  one_running();
  submit(2);
  EXPECT_THAT(happens(RequestRefused{RequestId{1}, {ErrorCode::kUnknownClass, "", {}, {}}}),
              ElementsAre("fail t2 unknown_class"));
  EXPECT_EQ(machine.state(task(1)), TaskState::kRunning);
}

TEST_F(TaskTest, ADaemonThatCannotBeHadFailsOnlyWhatHasNoWorker) {
  one_running();
  submit(2);
  resources.gpus = 1;
  submit(3);
  EXPECT_THAT(happens(DaemonFailed{{ErrorCode::kSlurmConfig, "", {}, {}}}), ElementsAre("fail t3 slurm_config"));
}

TEST_F(TaskTest, ClosingEndsEverythingAndLaterSubmitsAreAnswered) {
  one_running();
  submit(2);
  EXPECT_THAT(happens(ClientClosing{}), ElementsAre("fail t1 closed", "disconnect w1", "fail t2 closed"));
  EXPECT_THAT(submit(3), ElementsAre("fail t3 closed"));
  EXPECT_FALSE(machine.needs_daemon());
}

TEST_F(TaskTest, AWorkerOfAnotherVersionFailsAllThatWaitForItsKind) {
  submit(1);
  submit(2);
  grant(1);
  EXPECT_THAT(happens(WorkerRefusedUs{place(1), Epoch{1}, {ErrorCode::kVersionMismatch, "", {}, {}}}),
              ElementsAre("disconnect w1", "fail t1 version_mismatch", "fail t2 version_mismatch"));
  EXPECT_THAT(grant(1), IsEmpty()) << "it is not tried again";
}

TEST_F(TaskTest, ATaskThatCannotBeSentFailsAndLeavesItsPlaceToTheNext) {
  submit(1);
  submit(2);
  grant(1);
  attach(1);
  EXPECT_THAT(happens(TaskUnsendable{task(1), {ErrorCode::kBadRequest, "", {}, {}}}),
              ElementsAre("fail t1 bad_request", "send t2 w1"));
}

}  // namespace pounce::task
