// A lease that runs a loop of pounce.steps goes to who waits, but only after that one has waited for long, and the loop
// has run for long.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class StepYieldTest : public LeaseTest {
 protected:
  void given_in_a_loop() {
    given_busy();
    variables = NamespaceState::kStepping;
    beat(1);
  }
  // The snapshots of the queue taken meanwhile, each answered by `look`; the orders to leave the loop.
  std::size_t yields_in(std::chrono::seconds time, const QueueSnapshot& look) {
    std::size_t told = 0;
    for (auto second = 0s; second < time; second += 1s) {
      advance_alive(1s, 1);
      if (count<TakeQueueSnapshot>() == 0) continue;
      ++looks;
      tell(QueueSnapshotTaken{look});
      told += count<YieldSteps>();
    }
    return told;
  }
  std::size_t looks = 0;
};

TEST_F(StepYieldTest, NobodyLooksAtTheQueueBeforeTheLoopHasRunForItsTime) {
  given_in_a_loop();
  EXPECT_EQ(yields_in(599s, somebody_waits()), 0u);
  EXPECT_EQ(looks, 0u);
}

TEST_F(StepYieldTest, ItIsToBeLeftWhenSomebodyHasWaitedForLongAndStaysBusyTillItIs) {
  given_in_a_loop();
  EXPECT_EQ(yields_in(600s + 59s, somebody_waits()), 0u);
  EXPECT_EQ(yields_in(32s, somebody_waits()), 1u);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<EndWorker>(), 0u);
}

TEST_F(StepYieldTest, TheQueueIsLookedAtRarely) {
  given_in_a_loop();
  yields_in(600s + 300s, QueueSnapshot{});
  EXPECT_NEAR(static_cast<double>(looks), 10.0, 1.0);
}

TEST_F(StepYieldTest, WhoeverWaitsNoLongerDoesNotCount) {
  given_in_a_loop();
  yields_in(631s, somebody_waits());
  yields_in(30s, QueueSnapshot{});
  EXPECT_EQ(yields_in(59s, somebody_waits()), 0u);
}

TEST_F(StepYieldTest, ItIsToldOnce) {
  given_in_a_loop();
  EXPECT_EQ(yields_in(1200s, somebody_waits()), 1u);
}

TEST_F(StepYieldTest, TheNextLoopHasItsTimeAgain) {
  given_in_a_loop();
  ASSERT_EQ(yields_in(700s, somebody_waits()), 1u);
  variables = NamespaceState::kUnsaved;
  beat(1);
  variables = NamespaceState::kStepping;
  beat(1);
  EXPECT_EQ(yields_in(600s + 59s, somebody_waits()), 0u);
  EXPECT_EQ(yields_in(32s, somebody_waits()), 1u);
}

TEST_F(StepYieldTest, WhatItsOwnUserWaitsForDoesNotCount) {
  given_in_a_loop();
  QueueSnapshot own = somebody_waits();
  own.waiting.front().own = true;
  EXPECT_EQ(yields_in(1200s, own), 0u);
  EXPECT_GT(looks, 0u);
}

TEST_F(StepYieldTest, OneWaiterGetsOneLeaseHoweverLongItsStepTakes) {
  given_in_a_loop();
  const WorkerLink second{2};
  const auto beats = [&] { tell(WorkerSeen{lease(2), WorkerIndex{0}, second, 1, 0, NamespaceState::kStepping}); };
  open(2);
  demand(1, 0, one_gpu(), 2);
  tell(Submitted{lease(2), job(8)});
  tell(WorkerConnected{lease(2), WorkerIndex{0}, second, SlurmJobId{8}, 0, "g1", "gpu:a100:1"});
  tell(InterpreterStarted{lease(2), WorkerIndex{0}, second, Epoch{1}});
  beats();
  QueueSnapshot look = somebody_waits();
  look.held.push_back({job(8), "g1", look.held.front().room});
  std::size_t told = 0;
  for (int second_of_time = 0; second_of_time < 1500; ++second_of_time) {
    told += yields_in(1s, look);
    tell(SessionSeen{session(2)});
    beats();
  }
  EXPECT_EQ(told, 1u);
}

TEST_F(StepYieldTest, ATaskThatIsNoSuchLoopIsLeftAlone) {
  given_busy();
  EXPECT_EQ(yields_in(1200s, somebody_waits()), 0u);
  EXPECT_EQ(looks, 0u);
}

TEST_F(StepYieldTest, WhereOthersAreHiddenNobodyIsMovedAbout) {
  given_in_a_loop();
  QueueSnapshot hidden = somebody_waits();
  hidden.hidden = true;
  EXPECT_EQ(yields_in(1200s, hidden), 0u);
}

}  // namespace
}  // namespace pounce::lease
