// A worker that dies or stands still in the middle of something large, over every road: its client is told, or goes on,
// and has nothing half of it.
#include "contract/lanes/other_worker.h"

namespace pounce::lanes {
namespace {

class OtherWorkerTest : public OtherWorker {};
INSTANTIATE_TEST_SUITE_P(Roads, OtherWorkerTest, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

TEST_P(OtherWorkerTest, ThatIsKilledInTheMiddleOfAnObjectEndsItsTask) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();

  die();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWorkerCrashed) << end_of(task).error.text;
  expect_nothing_left(descriptors);
}

TEST_P(OtherWorkerTest, ThatIsKilledInTheMiddleOfAResultEndsItsTask) {
  const TaskId task = submit();
  grant();
  stop_in_the_middle();

  die();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWorkerCrashed) << end_of(task).error.text;
  EXPECT_TRUE(end_of(task).buffers.empty());
  expect_nothing_left(descriptors);
}

TEST_P(OtherWorkerTest, ThatStandsStillInTheMiddleOfAnObjectHasItWholeLater) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();
  go_on_alone();
  ASSERT_EQ(ended(task), nullptr);

  go_on();

  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
}

TEST_P(OtherWorkerTest, ThatStandsStillInTheMiddleOfAResultGivesItWholeLater) {
  const TaskId task = submit();
  grant();
  stop_in_the_middle();
  go_on_alone();
  ASSERT_EQ(ended(task), nullptr);

  go_on();

  ASSERT_TRUE(end_of(task).ok) << end_of(task).error.text;
  ASSERT_EQ(end_of(task).buffers.size(), 1u);
  EXPECT_TRUE(source->is(end_of(task).buffers.front().bytes));
}

}  // namespace
}  // namespace pounce::lanes
