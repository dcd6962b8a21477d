// Tasks for one worker of their lease: the ranks of a gang.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::ElementsAre;
using testing::IsEmpty;

class RanksTest : public TaskTest {
 protected:
  void SetUp() override { resources.workers = 2; }
  Words submit_for(int n, std::uint32_t worker) {
    return happens(TaskSubmitted{task(n), resources, 0, WorkerIndex{worker}});
  }
  Words comes(std::uint32_t worker, std::uint32_t epoch = 1) {
    happens(WorkerGranted{RequestId{1}, place(1, worker), Epoch{epoch}});
    return happens(WorkerAttached{place(1, worker), Epoch{epoch}});
  }
};

TEST_F(RanksTest, EachGoesToItsWorkerWhicheverComesFirst) {
  submit_for(1, 0);
  submit_for(2, 1);

  EXPECT_THAT(comes(1), ElementsAre("send t2 w1/1"));
  EXPECT_THAT(comes(0), ElementsAre("send t1 w1"));
}

TEST_F(RanksTest, OneThatWaitsForItsWorkerKeepsNobodyElseWaiting) {
  submit_for(1, 1);
  submit(2);

  EXPECT_THAT(comes(0), ElementsAre("send t2 w1"));
}

TEST_F(RanksTest, ItWaitsForItsWorkerWhileAnotherIsFree) {
  submit_for(1, 0);
  comes(0);
  comes(1);

  EXPECT_THAT(submit_for(2, 0), IsEmpty());
  EXPECT_THAT(happens(OutcomeArrived{place(1, 0), Epoch{1}, task(1)}),
              ElementsAre("ack t1", "deliver t1", "send t2 w1"));
}

TEST_F(RanksTest, OneThatNeverStartedFollowsItsWorkersNextInterpreter) {
  submit_for(1, 1);
  comes(1);

  happens(WorkerDied{place(1, 1), Epoch{1}, {ErrorCode::kWorkerCrashed, "It died.", {}, {}}, std::vector<TaskId>{}});

  EXPECT_THAT(comes(0), IsEmpty());
  EXPECT_THAT(comes(1, 2), ElementsAre("send t1 w1/1"));
}

TEST_F(RanksTest, GangsWithEqualResourcesHaveLeasesOfTheirOwn) {
  told(SessionOpened{});
  resources.gang = 1;
  told(TaskSubmitted{task(1), resources, 0, WorkerIndex{0}});
  now += 1min;
  resources.gang = 2;

  EXPECT_THAT(told(TaskSubmitted{task(2), resources, 0, WorkerIndex{0}}), ElementsAre("demand 1/0/0 1/0/0"));
}

}  // namespace pounce::task
