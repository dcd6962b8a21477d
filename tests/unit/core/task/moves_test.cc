// A task that waits and asks for something else.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::ElementsAre;
using testing::IsEmpty;

class MoveTest : public TaskTest {
 protected:
  static Resources gpus(std::uint32_t count) {
    Resources resources;
    resources.gpus = count;
    return resources;
  }
  Words move(int n, const Resources& to) { return happens(TaskMoved{task(n), to}); }
  // A worker of that request, without a task.
  void worker_of(int request, int lease) {
    happens(WorkerGranted{RequestId{static_cast<std::uint32_t>(request)}, place(lease), Epoch{1}});
    attach(lease);
  }
};

TEST_F(MoveTest, TheOldRequestIsToldToBeGoneAndTheNewOneToWait) {
  told(SessionOpened{});
  told(TaskSubmitted{task(1), gpus(1), 0});
  now += 1min;

  EXPECT_THAT(told(TaskMoved{task(1), gpus(0)}), ElementsAre("demand 0/0/0 1/0/0"));
  EXPECT_EQ(machine.request_of(task(1)), RequestId{2});
}

TEST_F(MoveTest, AFreeWorkerOfTheNewKindGetsItInTheSameStep) {
  resources = gpus(0);
  submit(1);
  worker_of(1, 1);
  outcome(1, 1);
  resources = gpus(1);
  submit(2);

  EXPECT_THAT(move(2, gpus(0)), ElementsAre("send t2 w1"));
}

TEST_F(MoveTest, ItGoesBeforeWhatWasSubmittedAfterIt) {
  resources = gpus(1);
  submit(1);
  resources = gpus(0);
  submit(2);
  move(1, gpus(0));

  happens(WorkerGranted{RequestId{2}, place(1), Epoch{1}});
  EXPECT_THAT(attach(1), ElementsAre("send t1 w1"));
}

TEST_F(MoveTest, OneThatWasSentToAWorkerStaysThere) {
  resources = gpus(1);
  submit(1);
  worker_of(1, 1);

  EXPECT_THAT(move(1, gpus(0)), IsEmpty());
  EXPECT_EQ(machine.request_of(task(1)), RequestId{1});
  EXPECT_THAT(outcome(1, 1), ElementsAre("ack t1", "deliver t1"));
}

TEST_F(MoveTest, OneThatHasEndedOrAsksForTheSameIsLeftAlone) {
  resources = gpus(1);
  submit(1);

  EXPECT_THAT(move(1, gpus(1)), IsEmpty());
  EXPECT_THAT(move(9, gpus(0)), IsEmpty());
  EXPECT_EQ(machine.request_of(task(1)), RequestId{1});
}

TEST_F(MoveTest, ARefusalOfWhatItAskedForFirstDoesNotEndIt) {
  resources = gpus(1);
  submit(1);
  move(1, gpus(0));

  EXPECT_THAT(happens(RequestRefused{RequestId{1}, {ErrorCode::kUnsatisfiable, "", {}, {}}}), IsEmpty());
  EXPECT_EQ(machine.state(task(1)), TaskState::kWaiting);
}

}  // namespace pounce::task
