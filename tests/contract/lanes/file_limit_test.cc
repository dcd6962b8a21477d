// A limit of file sizes that is lowered in the middle of something large: memory that is handed over counts as a file.
#include "support/file_limit.h"

#include "contract/lanes/other_worker.h"

namespace pounce::lanes {
namespace {

class FileLimitTest : public OtherWorker {};
INSTANTIATE_TEST_SUITE_P(Roads, FileLimitTest, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

// Huge pages are not written as a file is: where the kernel makes them for the rest, no limit stands in its way.
TEST_P(FileLimitTest, LoweredInTheMiddleOfAnObjectRefusesItOrCostsNothingAndLeavesNothingHalf) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();
  const FileLimit here(kMiB), there(kMiB, process());

  go_on();

  if (!end_of(task).ok) {
    EXPECT_EQ(end_of(task).error.code, ErrorCode::kOutOfMemory) << end_of(task).error.text;
    EXPECT_NE(end_of(task).error.text.find("File too large"), std::string::npos) << end_of(task).error.text;
    until([&] { return object_memory() == 0 && object_memory(pid()) == 0; });
  }
  const TaskId next = submit();
  EXPECT_TRUE(end_of(next).ok) << end_of(next).error.text;
}

// What cannot be copied into memory to be handed over goes in pieces.
TEST_P(FileLimitTest, LoweredForAClientInTheMiddleOfItsObjectCostsNothing) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();
  const FileLimit here(kMiB);

  go_on();

  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
}

TEST_P(FileLimitTest, LoweredForAWorkerInTheMiddleOfItsResultCostsNothing) {
  const TaskId task = submit();
  grant();
  stop_in_the_middle();
  const FileLimit there(kMiB, process());

  go_on();

  ASSERT_TRUE(end_of(task).ok) << end_of(task).error.text;
  EXPECT_TRUE(source->is(end_of(task).buffers.front().bytes));
}

}  // namespace
}  // namespace pounce::lanes
