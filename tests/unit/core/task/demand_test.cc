// What pounced is told, and how rarely.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::ElementsAre;
using testing::IsEmpty;

class DemandTest : public TaskTest {
 protected:
  void SetUp() override { told(SessionOpened{}); }
  Words submit(int n) { return told(TaskSubmitted{task(n), resources, 0}); }
  Words when_due() {
    now = machine.next_deadline();
    return told(TimePassed{});
  }
};

TEST_F(DemandTest, NewWorkIsToldAtOnce) { EXPECT_THAT(submit(1), ElementsAre("demand 1/0/0")); }

TEST_F(DemandTest, ALoopOfSubmitsIsTwoMessages) {
  submit(1);
  for (int n = 2; n <= 100; ++n) EXPECT_THAT(submit(n), IsEmpty());
  EXPECT_THAT(when_due(), ElementsAre("demand 100/0/0"));
  EXPECT_EQ(machine.next_deadline(), now + Settings{}.demand_repeat);
}

// A kernel that was stopped for longer than orphan_grace is unknown to pounced, and nothing tells it so.
TEST_F(DemandTest, WhatWaitsIsToldAgainAndAgain) {
  submit(1);
  EXPECT_THAT(when_due(), ElementsAre("demand 1/0/0"));
  EXPECT_THAT(when_due(), ElementsAre("demand 1/0/0"));
}

TEST_F(DemandTest, WhereNothingWaitsNothingIsToldAgain) {
  submit(1);
  grant(1);
  attach(1);
  when_due();
  EXPECT_EQ(machine.next_deadline(), TimePoint::max());
}

TEST_F(DemandTest, WorkBeforeTheSessionIsOpenIsToldWhenItOpens) {
  machine = Machine();
  EXPECT_THAT(submit(1), IsEmpty());
  EXPECT_THAT(told(SessionOpened{}), ElementsAre("demand 1/0/0"));
}

TEST_F(DemandTest, ANewDaemonIsToldEverythingAndWhatIsHeld) {
  submit(1);
  grant(1);
  attach(1);
  when_due();
  EXPECT_THAT(told(SessionOpened{}), ElementsAre("demand 0/1/1"));
}

TEST_F(DemandTest, AStreamOfShortTasksIsToldOnceAsRunningAndOnceAsDone) {
  submit(1);
  grant(1);
  attach(1);
  outcome(1, 1);
  EXPECT_THAT(when_due(), ElementsAre("demand 0/1/1"));
  EXPECT_THAT(when_due(), ElementsAre("demand 0/0/1"));
  Words messages;
  for (int n = 2; n <= 100; ++n) {
    now += 10ms;
    for (const auto& words : submit(n)) messages.push_back(words);
    for (const auto& words : told(OutcomeArrived{place(1), Epoch{1}, task(n)})) messages.push_back(words);
  }
  EXPECT_THAT(messages, ElementsAre("demand 0/1/1"));
  when_due();
  EXPECT_EQ(machine.demand().at(0).running, 0u);
}

TEST_F(DemandTest, CancellingTheOnlyWaitingTaskIsTold) {
  submit(1);
  told(CancelRequested{task(1)});
  EXPECT_THAT(when_due(), ElementsAre("demand 0/0/0"));
}

// Else pounced would not hear of it: it looks like the call that failed.
TEST_F(DemandTest, ACallMadeAtOnceAfterARefusalIsOfANewGenerationAndTold) {
  submit(1);
  told(RequestRefused{RequestId{1}, {ErrorCode::kUnsatisfiable, "Too much.", {}, {}}});
  submit(2);
  EXPECT_THAT(when_due(), ElementsAre("demand 1/0/0"));
  EXPECT_EQ(machine.demand().at(0).generation, 1u);
}

TEST_F(DemandTest, ACallMadeAtOnceAfterALeasesEndIsOfANewGeneration) {
  submit(1);
  grant(1);
  attach(1);
  submit(2);
  EXPECT_EQ(machine.demand().at(0).generation, 0u);
  lease_ends(1, ErrorCode::kJobCancelled);
  EXPECT_EQ(machine.demand().at(0).generation, 0u);  // what waits was there before
  submit(3);
  submit(4);
  EXPECT_EQ(machine.demand().at(0).generation, 1u);
}

TEST_F(DemandTest, ACallAfterTheEndOfALeaseThatWasNeverGrantedIsOfANewGeneration) {
  submit(1);
  lease_ends(1, ErrorCode::kJobCancelled);
  submit(2);
  EXPECT_EQ(machine.demand().at(0).generation, 1u);
}

TEST_F(DemandTest, TheEndOfALeaseIsTold) {
  submit(1);
  grant(1);
  attach(1);
  when_due();
  lease_ends(1, ErrorCode::kNodeFailed);
  EXPECT_THAT(when_due(), ElementsAre("demand 0/0/0"));
}

}  // namespace pounce::task
