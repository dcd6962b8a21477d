// A worker's GPUs against what the batch system gave to its job, and as pounced is told of them.
#include "worker/supervisor/leased_gpus.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace pounce::worker {
namespace {

bool is_within(const std::string& slurms, const std::string& visible, const char* name = "SLURM_JOB_GPUS") {
  return within_slurms({{name, slurms}, {"CUDA_VISIBLE_DEVICES", visible}}).has_value();
}

TEST(LeasedGpusTest, AreThoseOfSlurmByItsNumbersOrCountedFromNought) {
  EXPECT_TRUE(is_within("2,3", "2,3"));
  EXPECT_TRUE(is_within("2,3", "0,1"));
  EXPECT_TRUE(is_within("2,3", "1,0"));
  EXPECT_TRUE(is_within("2,3", "3"));
  EXPECT_TRUE(is_within("2,3", "0", "SLURM_STEP_GPUS"));
}

TEST(LeasedGpusTest, AreNotThoseThatSlurmGaveToSomebodyElse) {
  EXPECT_FALSE(is_within("2", "3"));
  EXPECT_FALSE(is_within("2", "0,1"));
  EXPECT_FALSE(is_within("2,3", "0,1,2,3"));
  EXPECT_FALSE(is_within("2,3", "1,2"));  // one by Slurm's number, one counted
  EXPECT_FALSE(is_within("2", "1", "SLURM_STEP_GPUS"));
}

TEST(LeasedGpusTest, AStepsOwnListCountsBeforeItsJobs) {
  const Environment step{{"SLURM_JOB_GPUS", "0,1,2,3"}, {"SLURM_STEP_GPUS", "2"}, {"CUDA_VISIBLE_DEVICES", "3"}};
  EXPECT_FALSE(within_slurms(step));
}

TEST(LeasedGpusTest, OnAFurtherNodeTheListOfTheBatchHostSaysNothing) {
  const Environment further{{"SLURM_JOB_GPUS", "0"}, {"CUDA_VISIBLE_DEVICES", "2,3"}};
  EXPECT_FALSE(within_slurms(further));
  EXPECT_TRUE(within_slurms(further, false));
}

TEST(LeasedGpusTest, WhatIsNoListOfNumbersSaysNothing) {
  EXPECT_TRUE(is_within("", "0"));
  EXPECT_TRUE(is_within("0", ""));
  EXPECT_TRUE(is_within("0", "MIG-1a2b"));
  EXPECT_TRUE(is_within("0", "GPU-1a2b"));
  EXPECT_TRUE(is_within("0-1", "2"));
  EXPECT_TRUE(is_within("0", "NoDevFiles"));
}

TEST(LeasedGpusTest, ARefusalNamesBothListsAndWhatToDo) {
  const auto refused = within_slurms({{"SLURM_JOB_GPUS", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}});
  EXPECT_EQ(refused.error().code, ErrorCode::kDeviceUnavailable);
  EXPECT_THAT(refused.error().text, testing::AllOf(testing::HasSubstr("(0,1)"), testing::HasSubstr("(2)")));
  EXPECT_FALSE(refused.error().remedy.empty());
}

TEST(LeasedGpusTest, AProcessSaysWhatItWasStartedWith) {
  ::setenv("CUDA_VISIBLE_DEVICES", "changed afterwards", 1);
  const auto own = visible_to(::getpid());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_TRUE(own);
  EXPECT_NE(own->list, "changed afterwards");
  EXPECT_FALSE(visible_to(-1));
}

TEST(LeasedGpusTest, WhereTheDriverDoesNotTellNobodyIsRefused) {
  using Uuids = device::GpuMeter::Uuids;
  EXPECT_TRUE(same_gpus(std::nullopt, true));
  EXPECT_TRUE(same_gpus(Uuids{{"GPU-a"}, {""}}, true));
  EXPECT_TRUE(same_gpus(Uuids{{"MIG-a"}, {"GPU-b"}}, false));
  EXPECT_TRUE(same_gpus(Uuids{{"GPU-a", "GPU-b"}, {"GPU-b", "GPU-a"}}, true));
  EXPECT_FALSE(same_gpus(Uuids{{"MIG-a"}, {"GPU-b"}}, true));
  EXPECT_FALSE(same_gpus(Uuids{{"GPU-a"}, {"GPU-a", "GPU-b"}}, false));
}

TEST(LeasedGpusTest, AreToldWithTheirSliceAndTheirFailure) {
  device::DeviceFacts facts;
  facts.uuid = "MIG-a";
  facts.model = "NVIDIA A100-SXM4-40GB MIG 3g.20gb";
  facts.memory.total_bytes = 20ull << 30;
  const device::GpuFailure failed{"MIG-a", "0", {ErrorCode::kDeviceFailed, "it fell off", {}, {}}};

  const auto rows = gpu_rows({facts, {}}, {failed});

  EXPECT_EQ(rows.at(0).slice, "3g.20gb");
  EXPECT_EQ(rows.at(0).memory_mib, 20u * 1024);
  EXPECT_EQ(rows.at(0).failed, "it fell off");
  EXPECT_EQ(rows.at(0).numa_node, -1);
  EXPECT_EQ(rows.at(1).failed, "");
}

}  // namespace
}  // namespace pounce::worker
