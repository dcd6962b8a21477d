// A worker whose job may use less memory than what is announced to it: it says so before any of it comes, where the
// kernel would end it when much of it is there. A real control group bounds it.
#include "contract/lanes/other_worker.h"
#include "support/memory_group.h"

namespace pounce::lanes {
namespace {

constexpr std::size_t kLimit = 512 * kMiB,
                      kTooMuch = 1024 * kMiB;  // what AddressSanitizer keeps of freed memory, 256 MiB, fits too

class JobMemoryTest : public OtherWorker {
 protected:
  JobMemoryTest() : OtherWorker([](const Line& client) { client.hear(); }) {}  // it begins in its group
  void SetUp() override {
    group = MemoryGroup::make(kLimit);
    if (!group || !group->take(process())) GTEST_SKIP() << "no control group of memory can be made here";
    line().tell("begin");
    OtherWorker::SetUp();
  }
  void TearDown() override {
    if (engine) OtherWorker::TearDown();
    kill();  // before its group goes
  }

  std::unique_ptr<MemoryGroup> group;
};
// What is handed over on one machine is the memory of who made it.
INSTANTIATE_TEST_SUITE_P(Roads, JobMemoryTest, testing::Values(Road::kTls, Road::kZeroMq), road_name);

TEST_P(JobMemoryTest, WhatIsLargerIsRefusedByNameAndTheWorkerLives) {
  const auto zeros = std::make_shared<const Source>(kTooMuch);
  const auto object = random_id<ObjectId>();
  engine->hold_object(object, {own_bytes(""), {{zeros->bytes(), zeros}}}, false);
  const TaskId task = submit({object});

  grant();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(end_of(task).error.text, testing::HasSubstr("1024 MiB does not fit into this job's memory: of 512 MiB"));
  EXPECT_TRUE(lives());
  EXPECT_EQ(object_memory(pid()), 0u);
}

TEST_P(JobMemoryTest, WhatFitsArrives) {
  const TaskId task = submit_object();

  grant();

  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
}

}  // namespace
}  // namespace pounce::lanes
