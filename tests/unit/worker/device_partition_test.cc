#include <gtest/gtest.h>

#include "worker/supervisor/leased_gpus.h"

namespace pounce::worker {
namespace {

std::string gpus_of(const std::string& all, std::uint32_t worker, std::uint32_t workers) {
  return device_partition({{"CUDA_VISIBLE_DEVICES", all}}, WorkerIndex{worker}, workers).at("CUDA_VISIBLE_DEVICES");
}

TEST(DevicePartitionTest, EachWorkerSeesItsOwnDevices) {
  EXPECT_EQ(gpus_of("0,3,5,7", 0, 4), "0");
  EXPECT_EQ(gpus_of("0,3,5,7", 3, 4), "7");
  EXPECT_EQ(gpus_of("0,3,5,7", 1, 2), "5,7");
  EXPECT_EQ(gpus_of("GPU-aa,GPU-bb", 1, 2), "GPU-bb");
}

TEST(DevicePartitionTest, WhatCannotBeDividedStaysWhole) {
  EXPECT_EQ(gpus_of("0,1,2", 1, 2), "0,1,2");
  EXPECT_EQ(gpus_of("", 1, 2), "");
  EXPECT_EQ(gpus_of("0,1", 0, 1), "0,1");
}

TEST(DevicePartitionTest, OtherVariablesAreNotDivided) {
  EXPECT_EQ(device_partition({{"PATHS", "a,b"}}, WorkerIndex{0}, 2).at("PATHS"), "a,b");
}

}  // namespace
}  // namespace pounce::worker
