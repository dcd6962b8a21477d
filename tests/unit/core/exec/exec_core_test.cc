// The worker's machine told as events and exact actions; every test ends with the invariants.
#include "core/exec/exec_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce::exec {

namespace {

template <class Id>
Id id_of(std::uint8_t n) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  bytes[0] = n;
  return Id(bytes);
}
TaskId task(std::uint8_t n) { return id_of<TaskId>(n); }
SessionId session(std::uint8_t n) { return id_of<SessionId>(n); }

// Actions as text: a failed comparison then shows both lists in words.
std::string hex2(const auto& id) { return id.hex().substr(1, 1); }
struct Words {
  std::string operator()(const StartTask& a) const { return "start " + hex2(a.task) + " of " + hex2(a.session); }
  std::string operator()(const TellStarted& a) const { return "tell started " + hex2(a.task); }
  std::string operator()(const InterruptTask& a) const { return "interrupt " + hex2(a.task); }
  std::string operator()(const GiveUp& a) const { return "give up " + hex2(a.task); }
  std::string operator()(const FailTask& a) const {
    return (a.why == Failure::kCancelled ? "fail cancelled " : "fail missing ") + hex2(a.task);
  }
  std::string operator()(const SendOutcome& a) const { return "outcome " + hex2(a.task) + " to " + hex2(a.session); }
  std::string operator()(const AnswerStates& a) const {
    std::string text = "states";
    for (std::size_t i = 0; i < a.tasks.size(); ++i)
      text += " " + hex2(a.tasks[i]) + "=" + std::to_string(static_cast<int>(a.states[i]));
    return text;
  }
  std::string operator()(const ForgetTask& a) const { return "forget " + hex2(a.task); }
  std::string operator()(const TellActivity& a) const { return "active " + std::to_string(a.running); }
};

class ExecTest : public testing::Test {
 protected:
  std::vector<std::string> tell(const Event& event) {
    std::vector<std::string> words;
    for (const Action& action : core.handle(event, now)) words.push_back(std::visit(Words{}, action));
    EXPECT_EQ(core.broken_invariant(), nullptr);
    return words;
  }
  void run(std::uint8_t n) {  // an idle main thread receives and runs task n of session 1
    tell(RunnerReady{});
    tell(TaskArrived{session(1), task(n)});
    ASSERT_EQ(core.running(), task(n));
  }
  void finish(std::uint8_t n) {
    run(n);
    tell(RunEnded{task(n)});
  }

  ExecCore core;
  TimePoint now = TimePoint{} + std::chrono::hours(1);
};

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ExecTest, StartsATaskAtOnceWhenTheMainThreadWaits) {
  tell(RunnerReady{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), ElementsAre("start 1 of 1", "active 1"));
}

TEST_F(ExecTest, QueuesWhatArrivesWhileTheMainThreadHasGoneAgain) {
  tell(RunnerReady{});
  tell(RunnerAway{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), ElementsAre("active 1"));
  EXPECT_EQ(core.waiting(), 1u);
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 1 of 1"));
  EXPECT_EQ(core.waiting(), 0u);
}

TEST_F(ExecTest, QueuesWhileTheMainThreadIsAwayAndStartsInOrderOfArrival) {
  EXPECT_THAT(tell(TaskArrived{session(1), task(2)}), ElementsAre("active 1"));
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), ElementsAre("active 2"));
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 2 of 1"));
  EXPECT_THAT(tell(RunEnded{task(2)}), ElementsAre("outcome 2 to 1", "active 1"));
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 1 of 1"));
}

TEST_F(ExecTest, GivesAPayloadToTheRunOfItsTaskAndKeepsItNoLonger) {
  const PayloadHandle payload = std::make_shared<int>(7);
  tell(TaskArrived{session(1), task(1), 0, true, payload});
  EXPECT_EQ(payload.use_count(), 2);
  {
    const auto actions = core.handle(RunnerReady{}, now);
    ASSERT_FALSE(actions.empty());
    EXPECT_EQ(std::get<StartTask>(actions.front()).payload, payload);
  }
  EXPECT_EQ(payload.use_count(), 1);
}

TEST_F(ExecTest, LetsGoOfThePayloadsOfTasksThatNeverRun) {
  const PayloadHandle payload = std::make_shared<int>(7);
  tell(TaskArrived{session(1), task(1), 0, false, payload});
  EXPECT_EQ(payload.use_count(), 1) << "its inputs are missing";
  tell(TaskArrived{session(1), task(2), 0, true, payload});
  tell(TaskArrived{session(1), task(2), 0, true, payload});
  EXPECT_EQ(payload.use_count(), 2) << "the second is a repetition";
  tell(SessionDismissed{session(1)});
  EXPECT_EQ(payload.use_count(), 1);
}

TEST_F(ExecTest, RunsOneTaskAtATime) {
  run(1);
  EXPECT_THAT(tell(TaskArrived{session(1), task(2)}), ElementsAre("active 2"));
  EXPECT_THAT(tell(RunnerReady{}), IsEmpty());
  EXPECT_EQ(core.running(), task(1));
}

TEST_F(ExecTest, DoesNotQueueARepeatedTaskTwice) {
  tell(TaskArrived{session(1), task(1)});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), IsEmpty());
  EXPECT_EQ(core.unfinished(), 1u);
  EXPECT_EQ(core.ignored(), 1u);
}

TEST_F(ExecTest, TellsTheSenderOfARepeatedTaskThatItRunsAlready) {
  run(1);
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), ElementsAre("tell started 1"));
}

TEST_F(ExecTest, SendsTheKeptOutcomeAgainWhenADoneTaskIsRepeated) {
  finish(1);
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), ElementsAre("outcome 1 to 1"));
}

TEST_F(ExecTest, KeepsAnOutcomeUntilItIsAcknowledgedAndThenForgetsIt) {
  finish(1);
  EXPECT_EQ(core.state_of(task(1)), RemoteTaskState::kDone);
  EXPECT_THAT(tell(OutcomesAcknowledged{session(1), {task(1)}}), ElementsAre("forget 1"));
  EXPECT_EQ(core.state_of(task(1)), RemoteTaskState::kUnknown);
}

TEST_F(ExecTest, NeverRunsAnAcknowledgedTaskAgainWhenALateDuplicateArrives) {
  finish(1);
  tell(OutcomesAcknowledged{session(1), {task(1)}});
  tell(RunnerReady{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), IsEmpty());
}

TEST_F(ExecTest, RunsAHigherAttemptOfADoneTask) {
  finish(1);
  tell(RunnerReady{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1), 1}), ElementsAre("forget 1", "start 1 of 1", "active 1"));
}

TEST_F(ExecTest, RunsAHigherAttemptOfAnAcknowledgedTask) {
  finish(1);
  tell(OutcomesAcknowledged{session(1), {task(1)}});
  tell(RunnerReady{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1), 1}), ElementsAre("start 1 of 1", "active 1"));
}

TEST_F(ExecTest, RemembersOnlySoManyAcknowledgedTasks) {
  for (std::size_t i = 0; i <= ExecCore::kRemembered; ++i) {
    std::array<std::uint8_t, 16> bytes{9, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    tell(TaskArrived{session(1), TaskId(bytes)});
    tell(RunnerReady{});
    tell(RunEnded{TaskId(bytes)});
    tell(OutcomesAcknowledged{session(1), {TaskId(bytes)}});
  }
  tell(RunnerReady{});
  EXPECT_THAT(tell(TaskArrived{session(1), task(9)}), ElementsAre("start 9 of 1", "active 1"));
}

TEST_F(ExecTest, IgnoresAnAcknowledgementOfATaskThatStillRuns) {
  run(1);
  EXPECT_THAT(tell(OutcomesAcknowledged{session(1), {task(1)}}), IsEmpty());
  EXPECT_EQ(core.state_of(task(1)), RemoteTaskState::kRunning);
}

TEST_F(ExecTest, FailsATaskWhoseInputsAreNotHereAndKeepsThatOutcome) {
  EXPECT_THAT(tell(TaskArrived{session(1), task(1), 0, false}), ElementsAre("fail missing 1"));
  EXPECT_EQ(core.state_of(task(1)), RemoteTaskState::kDone);
}

TEST_F(ExecTest, CancelsAQueuedTaskWithoutTouchingTheRunningOne) {
  run(1);
  tell(TaskArrived{session(1), task(2)});
  EXPECT_THAT(tell(CancelRequested{session(1), task(2)}), ElementsAre("fail cancelled 2", "active 1"));
  EXPECT_FALSE(core.cancel_asked(task(1)));
}

TEST_F(ExecTest, CancelsATaskThatIsOnlyToBeCancelledInTheQueueUnlessItRuns) {
  run(1);
  tell(TaskArrived{session(1), task(2)});
  EXPECT_THAT(tell(CancelRequested{session(1), task(2), 0s, true}), ElementsAre("fail cancelled 2", "active 1"));
  EXPECT_THAT(tell(CancelRequested{session(1), task(1), 0s, true}), IsEmpty());
  EXPECT_FALSE(core.cancel_asked(task(1)));
  EXPECT_EQ(core.next_deadline(), TimePoint::max());
}

TEST_F(ExecTest, InterruptsARunningTaskAndRemembersThatItWasAsked) {
  run(1);
  EXPECT_THAT(tell(CancelRequested{session(1), task(1)}), ElementsAre("interrupt 1"));
  EXPECT_TRUE(core.cancel_asked(task(1)));
  EXPECT_THAT(tell(RunEnded{task(1)}), ElementsAre("outcome 1 to 1", "active 0"));
}

TEST_F(ExecTest, GivesUpACancelledTaskThatDoesNotStopWithinItsGrace) {
  run(1);
  EXPECT_EQ(core.next_deadline(), TimePoint::max());
  tell(CancelRequested{session(1), task(1), 10s});
  now += 10s - 1ms;
  EXPECT_THAT(tell(TimePassed{}), IsEmpty());
  now += 1ms;
  EXPECT_EQ(core.next_deadline(), now);
  EXPECT_THAT(tell(TimePassed{}), ElementsAre("give up 1"));
}

TEST_F(ExecTest, AnotherCancelInterruptsAgainAndTheShortestGraceHolds) {
  run(1);
  tell(CancelRequested{session(1), task(1), 10s});
  EXPECT_THAT(tell(CancelRequested{session(1), task(1), 1s}), ElementsAre("interrupt 1"));
  tell(CancelRequested{session(1), task(1), 20s});
  EXPECT_EQ(core.next_deadline(), now + 1s);
}

TEST_F(ExecTest, GivesNothingUpOnceACancelledTaskHasStopped) {
  run(1);
  tell(CancelRequested{session(1), task(1), 10s});
  tell(RunEnded{task(1)});
  run(2);
  now += 1h;
  EXPECT_THAT(tell(TimePassed{}), IsEmpty());
}

TEST_F(ExecTest, GivesUpTheTaskOfADismissedSessionToo) {
  run(1);
  tell(SessionDismissed{session(1)});
  now += ExecCore::kGrace;
  EXPECT_THAT(tell(TimePassed{}), ElementsAre("give up 1"));
}

TEST_F(ExecTest, DoesNotInterruptATaskThatHasEnded) {
  finish(1);
  EXPECT_THAT(tell(CancelRequested{session(1), task(1)}), IsEmpty());
}

TEST_F(ExecTest, IgnoresACancelOfAnUnknownTask) {
  EXPECT_THAT(tell(CancelRequested{session(1), task(7)}), IsEmpty());
  EXPECT_EQ(core.ignored(), 1u);
}

TEST_F(ExecTest, AnswersAQueryWithOneStatePerTaskAndSendsTheDoneOutcomesAgain) {
  finish(1);
  run(2);
  tell(TaskArrived{session(1), task(3)});
  EXPECT_THAT(tell(StatesRequested{session(1), {task(4), task(3), task(2), task(1)}}),
              ElementsAre("states 4=0 3=1 2=2 1=3", "outcome 1 to 1"));
}

// Its owner was told that the lease had ended, and gave its tasks up; a restart of pounced brought the lease back. What
// ran there went on for ever, beside its next attempt. (Seeds 25332, 42580, 118328)
TEST_F(ExecTest, GivesUpWhatASessionThatAttachedCountsOnNoMore) {
  finish(1);
  run(2);
  tell(TaskArrived{session(1), task(3)});
  tell(TaskArrived{session(1), task(4)});
  tell(TaskArrived{session(2), task(5)});
  EXPECT_THAT(tell(StatesRequested{session(1), {task(4)}, true}),
              ElementsAre("forget 1", "interrupt 2", "forget 3", "states 4=1", "active 3"));
  EXPECT_THAT(tell(RunEnded{task(2)}), ElementsAre("forget 2", "active 2"));
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 4 of 1"));
}

TEST_F(ExecTest, GivesUpNothingForARelayWhoseSessionHadTheTaskBeforeIt) {
  run(1);
  EXPECT_THAT(tell(StatesRequested{session(1), {}}), ElementsAre("states"));
  EXPECT_EQ(core.running(), task(1));
}

TEST_F(ExecTest, ShowsASessionNothingOfAnother) {
  finish(1);
  EXPECT_THAT(tell(StatesRequested{session(2), {task(1)}}), ElementsAre("states 1=0"));
  EXPECT_THAT(tell(OutcomesAcknowledged{session(2), {task(1)}}), IsEmpty());
  EXPECT_THAT(tell(TaskArrived{session(2), task(1)}), IsEmpty());
  EXPECT_EQ(core.state_of(task(1)), RemoteTaskState::kDone);
}

TEST_F(ExecTest, LetsNoSessionCancelTheTaskOfAnother) {
  run(1);
  EXPECT_THAT(tell(CancelRequested{session(2), task(1)}), IsEmpty());
  EXPECT_FALSE(core.cancel_asked(task(1)));
}

TEST_F(ExecTest, ForgetsQueuedAndDoneTasksOfADismissedSessionAndInterruptsTheRunningOne) {
  finish(1);
  run(2);
  tell(TaskArrived{session(1), task(3)});
  tell(TaskArrived{session(2), task(4)});
  EXPECT_THAT(tell(SessionDismissed{session(1)}), ElementsAre("forget 1", "interrupt 2", "forget 3", "active 2"));
  EXPECT_THAT(tell(RunEnded{task(2)}), ElementsAre("forget 2", "active 1"));
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 4 of 2"));
}

// It was said to be unknown, as if it had never come: the session came back, and it ran a second time. (Seed 61343)
TEST_F(ExecTest, SaysOfTheTasksOfADismissedSessionThatRanThatTheyAreForgotten) {
  finish(1);
  run(2);
  tell(TaskArrived{session(1), task(3)});
  tell(SessionDismissed{session(1)});
  EXPECT_THAT(tell(StatesRequested{session(1), {task(1), task(2), task(3)}}), ElementsAre("states 1=4 2=4 3=0"));
  tell(RunEnded{task(2)});
  EXPECT_THAT(tell(StatesRequested{session(1), {task(2)}}), ElementsAre("states 2=4"));
}

TEST_F(ExecTest, NeverRunsATaskOfADismissedSessionAgain) {
  finish(1);
  run(2);
  tell(SessionDismissed{session(1)});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1)}), IsEmpty());
  EXPECT_THAT(tell(TaskArrived{session(1), task(2)}), IsEmpty());
}

TEST_F(ExecTest, RunsTheNextAttemptOfATaskThatItForgetsOnceTheFirstHasEnded) {
  run(1);
  tell(SessionDismissed{session(1)});
  EXPECT_THAT(tell(TaskArrived{session(1), task(1), 1}), ElementsAre("forget 1", "active 2"));
  EXPECT_TRUE(core.cancel_asked(task(1))) << "the run that ends was interrupted by us";
  EXPECT_THAT(tell(RunEnded{task(1)}), ElementsAre("active 1"));
  EXPECT_THAT(tell(RunnerReady{}), ElementsAre("start 1 of 1"));
  EXPECT_FALSE(core.cancel_asked(task(1)));
  EXPECT_THAT(tell(RunEnded{task(1)}), ElementsAre("outcome 1 to 1", "active 0"));
}

TEST_F(ExecTest, TellsNoOtherSessionThatATaskRan) {
  finish(1);
  tell(SessionDismissed{session(1)});
  EXPECT_THAT(tell(StatesRequested{session(2), {task(1)}}), ElementsAre("states 1=0"));
}

TEST_F(ExecTest, DoesNotCountATaskThatWasCancelledInTheQueueAsOneThatRan) {
  run(1);
  tell(TaskArrived{session(1), task(2)});
  tell(CancelRequested{session(1), task(2)});
  tell(SessionDismissed{session(1)});
  EXPECT_THAT(tell(StatesRequested{session(1), {task(2)}}), ElementsAre("states 2=0"));
}

TEST_F(ExecTest, OwesAnOutcomeToItsSessionUntilThatHasAcknowledgedIt) {
  finish(1);
  EXPECT_TRUE(core.owes(session(1)));
  EXPECT_FALSE(core.owes(session(2)));
  tell(OutcomesAcknowledged{session(1), {task(1)}});
  EXPECT_FALSE(core.owes(session(1)));
}

TEST_F(ExecTest, OwesNothingForATaskThatRuns) {
  run(1);
  EXPECT_FALSE(core.owes(session(1)));
}

TEST_F(ExecTest, IgnoresTheEndOfATaskThatDoesNotRun) {
  run(1);
  EXPECT_THAT(tell(RunEnded{task(2)}), IsEmpty());
  EXPECT_EQ(core.running(), task(1));
}

}  // namespace
}  // namespace pounce::exec
