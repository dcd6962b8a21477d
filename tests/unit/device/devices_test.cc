#include "device/devices.h"

#include <gmock/gmock.h>

#include "device/device.h"

namespace pounce::device {
namespace {

TEST(DevicesTest, OpensEachDeviceOnce) {
  Devices devices;

  const auto first = devices.open(DeviceName{}), again = devices.open(DeviceName{});

  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
}

TEST(DevicesTest, SaysWhatPounceHasOfThoseThatWereOpened) {
  Devices devices;
  EXPECT_TRUE(devices.use().empty());
  const auto device = devices.open(DeviceName{});
  ASSERT_TRUE(device);

  const auto buffer = (*device)->allocate(1000, "test");

  EXPECT_EQ(devices.use().at(DeviceName{}).bytes, 1000u);
}

TEST(DevicesTest, TriesAgainWhatCouldNotBeOpened) {
  Devices devices;
  const DeviceName none{DeviceName::Kind::kHost, Ordinal{4000}};

  EXPECT_FALSE(devices.open(none));
  EXPECT_FALSE(devices.open(none));

  EXPECT_TRUE(devices.use().empty());
}

TEST(DevicesTest, AdvisesToAskForAGpuOnlyWhereTheLeaseHasNone) {
  const Error no_driver{ErrorCode::kDeviceUnavailable, "no NVIDIA driver is loaded on this node", {}, {}};

  EXPECT_EQ(advised(no_driver, "").advice(), "Ask for a GPU: gpus=1.");
  EXPECT_EQ(advised(no_driver, "GPU 2").text, "no NVIDIA driver is loaded on this node, and the lease has GPU 2");
  for (const char* leased : {"GPU 2", "CPU standing in"})
    EXPECT_THAT(std::string(advised(no_driver, leased).advice()), testing::Not(testing::HasSubstr("gpus=")));
}

TEST(DevicesTest, KeepsARemedyThatFitsWhateverTheLeaseHas) {
  const Error no_runtime{ErrorCode::kDeviceUnavailable, "there is no CUDA runtime here", "Install it.", {}};

  EXPECT_EQ(advised(no_runtime, "GPU 2").remedy, "Install it.");
}

TEST(DevicesTest, LooksForNvidiasLibrariesByNameAndThenWherePipPutsThem) {
  const CudaLibraries libraries = cuda_libraries({"/venv/site-packages"});

  EXPECT_EQ(libraries.runtime.front(), "libcudart.so.13");
  EXPECT_THAT(libraries.runtime, testing::Contains("/venv/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12"));
  EXPECT_THAT(libraries.nccl, testing::ElementsAre("libnccl.so.2", "/venv/site-packages/nvidia/nccl/lib/libnccl.so.2"));
}

}  // namespace
}  // namespace pounce::device
