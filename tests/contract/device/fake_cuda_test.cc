// What only a CUDA runtime and a NCCL of ours can show: in which order they are called, and what becomes of each thing
// that can go wrong with them.
#include <gmock/gmock.h>

#include "contract/device/kinds.h"
#include "device/communicator.h"
#include "device/device.h"
#include "device/driver.h"
#include "device/transfer.h"

namespace pounce::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr StagingSize kTwoChunks{.chunk_bytes = 64 << 10, .chunks = 2};
constexpr int kLaunchFailure = 719, kInternal = 3;

class NobodyElse final : public Attendance {
 public:
  void arrive(Rank, std::uint64_t) override {}
  std::optional<std::vector<Rank>> missing(std::uint64_t) override { return std::vector<Rank>{}; }
};

class FakeCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    reset_fakes();
    backend_ = *open_backend(Kind::kFakeCuda);
  }
  void TearDown() override { expect_nothing_left(); }

  std::shared_ptr<Device> device() { return *Device::open(*backend_, Ordinal{0}, kTwoChunks); }

  // "register", then what was begun and waited for.
  static std::vector<std::string> calls() { return fake_cuda().calls; }

  std::unique_ptr<Backend> backend_;
};

TEST_F(FakeCudaTest, AnUploadFillsOneChunkWhileTheOtherIsOnItsWay) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(5 * kTwoChunks.chunk_bytes, "test");
  Upload upload(buffer);

  ASSERT_TRUE(upload.write(pattern(buffer.size())));
  ASSERT_TRUE(upload.finish());

  EXPECT_THAT(calls(),
              ElementsAre("register", "in 1", "in 2", "wait 1", "in 3", "wait 2", "in 4", "wait 3", "in 5", "wait 5"));
}

TEST_F(FakeCudaTest, ADownloadHasTheNextPieceOnItsWayWhileOneIsRead) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(3 * kTwoChunks.chunk_bytes, "test");
  Download download(buffer);

  while (!download.next()->empty()) continue;

  EXPECT_THAT(calls(), ElementsAre("register", "out 1", "out 2", "wait 1", "out 3", "wait 2", "wait 3"));
}

TEST_F(FakeCudaTest, PinsItsMemoryOnce) {
  const auto gpu = device();
  for (int i = 0; i < 3; ++i) {
    const Buffer buffer = *gpu->allocate(5 * kTwoChunks.chunk_bytes, "test");
    Upload upload(buffer);
    ASSERT_TRUE(upload.write(pattern(buffer.size())) && upload.finish());
  }

  EXPECT_EQ(std::ranges::count(fake_cuda().calls, "register"), 1);
  EXPECT_EQ(fake_cuda().registrations, 1u);
}

TEST_F(FakeCudaTest, TakesNothingOfADeviceBeforeOneIsOpened) {
  ASSERT_TRUE(backend_->devices());

  EXPECT_EQ(fake_cuda().streams + fake_cuda().allocations + fake_cuda().registrations, 0u);
  EXPECT_EQ(fake_cuda().troubles, std::vector<std::string>());
}

TEST_F(FakeCudaTest, UsesTheDeviceThatWasOpened) {
  const auto gpu = *Device::open(*backend_, Ordinal{2}, kTwoChunks);

  const Buffer buffer = *gpu->allocate(1, "test");

  EXPECT_THAT(fake_cuda().used_devices, ElementsAre(2));
}

TEST_F(FakeCudaTest, TellsWhatCudaTellsOfADevice) {
  const auto devices = *backend_->devices();

  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[2].uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e02");
  EXPECT_EQ(devices[2].model, "Fake GPU");
  EXPECT_EQ(devices[2].memory.total_bytes, 64 * kMiB);
}

TEST_F(FakeCudaTest, ACopyThatFailsIsTheUploadsErrorAndTheNextUploadGoesWell) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(5 * kTwoChunks.chunk_bytes, "test");
  fake_cuda().fails = "cudaMemcpyAsync", fake_cuda().fails_with = kLaunchFailure;
  {
    Upload upload(buffer);

    (void)upload.write(pattern(buffer.size()));  // it may hear of it here already
    const auto finished = upload.finish();

    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, ErrorCode::kDeviceFailed);
    EXPECT_EQ(finished.error().text, "CUDA could not copy to the device: unspecified launch failure");
    EXPECT_EQ(finished.error().context.at("cuda_error"), "719");
  }
  Upload again(buffer);
  EXPECT_TRUE(again.write(pattern(buffer.size())) && again.finish());
}

TEST_F(FakeCudaTest, AnUploadThatIsInVainTakesNoMoreBytes) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(5 * kTwoChunks.chunk_bytes, "test");
  Upload upload(buffer);
  fake_cuda().fails = "cudaMemcpyAsync", fake_cuda().fails_with = kLaunchFailure;
  ASSERT_TRUE(upload.write(pattern(kTwoChunks.chunk_bytes)));
  ASSERT_TRUE(gpu->room());  // the copy was tried before

  const auto room = upload.room();

  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, ErrorCode::kDeviceFailed);
}

TEST_F(FakeCudaTest, ADeviceThatIsLostIsAnErrorOfEachCallAndNothingOfItIsKept) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(5 * kTwoChunks.chunk_bytes, "test");
  Upload upload(buffer);
  ASSERT_TRUE(upload.write(pattern(kTwoChunks.chunk_bytes)));
  fake_cuda().lost = kLaunchFailure;

  (void)upload.write(pattern(4 * kTwoChunks.chunk_bytes));  // it may hear of it here already
  const auto finished = upload.finish();
  const auto more = gpu->allocate(1, "test");
  const auto piece = Download(buffer).next();

  ASSERT_FALSE(finished || more || piece);
  for (const Error& error : {finished.error(), more.error(), piece.error(), gpu->room().error()})
    EXPECT_EQ(error.code, ErrorCode::kDeviceFailed);
}  // TearDown: each allocation, registration, stream and event was given back

TEST_F(FakeCudaTest, ADeviceThatCannotBeOpenedKeepsNothing) {
  for (const char* call : {"cudaSetDevice", "cudaStreamCreateWithFlags", "cudaHostRegister"}) {
    fake_cuda().fails = call, fake_cuda().fails_with = kLaunchFailure;

    EXPECT_FALSE(Device::open(*backend_, Ordinal{0}, kTwoChunks)) << call;

    expect_nothing_left();
  }
}

TEST_F(FakeCudaTest, AMemoryThatIsFullLeavesNoErrorForOthers) {
  const auto gpu = device();

  const auto buffer = gpu->allocate(65 * kMiB, "test");

  ASSERT_FALSE(buffer);
  EXPECT_THAT(buffer.error().text,
              HasSubstr("the device has no room for 65.0 MiB: 64.0 MiB of 64.0 MiB are free; pounce holds 0 bytes"));
  EXPECT_EQ(fake_cuda().last_error, 0);
}

// ---- what is missing ----------------------------------------------------------------------------------------------

std::string why_not(CudaLibraries libraries = {.runtime = {built(POUNCE_FAKE_CUDA)}, .nccl = {}}) {
  const auto opened = cuda_backend(std::move(libraries));
  if (opened) return "it works";
  EXPECT_EQ(opened.error().code, ErrorCode::kDeviceUnavailable);
  EXPECT_FALSE(opened.error().advice().empty());
  return opened.error().text;
}

TEST_F(FakeCudaTest, SaysThatThereIsNoRuntime) {
  EXPECT_THAT(why_not({.runtime = {"libnot-there.so.13", "libnot-there.so.12"}}),
              testing::AllOf(HasSubstr("there is no CUDA runtime here"), HasSubstr("libnot-there.so.13"),
                             HasSubstr("libnot-there.so.12")));
}

TEST_F(FakeCudaTest, TakesTheFirstRuntimeThatIsThere) {
  EXPECT_EQ(why_not({.runtime = {"libnot-there.so.13", built(POUNCE_FAKE_CUDA)}}), "it works");
}

TEST_F(FakeCudaTest, SaysThatALibraryIsNoRuntime) {
  EXPECT_THAT(why_not({.runtime = {built(POUNCE_FAKE_NCCL)}}), HasSubstr("has no function cudaGetDeviceCount"));
}

TEST_F(FakeCudaTest, SaysThatTheDriverIsOlderThanTheRuntime) {
  fake_cuda().driver_version = 12040;

  EXPECT_EQ(why_not(), "the driver of this node knows CUDA up to 12.4, the runtime is of 13.0");
  fake_cuda().last_error = 0;
}

TEST_F(FakeCudaTest, SaysThatThereIsNoDriver) {
  fake_cuda().driver_version = 0;

  EXPECT_EQ(why_not(), "no NVIDIA driver is loaded on this node");
  fake_cuda().last_error = 0;
}

TEST_F(FakeCudaTest, SaysThatThereIsNoGpu) {
  fake_cuda().devices = 0;

  EXPECT_EQ(why_not(), "CUDA sees no GPU here");
  fake_cuda().last_error = 0;
}

TEST_F(FakeCudaTest, SaysThatThereIsNoNcclWhenAGroupIsMade) {
  const auto backend = *cuda_backend({.runtime = {built(POUNCE_FAKE_CUDA)}, .nccl = {"libnot-there.so.2"}});

  const auto group = backend->new_group();

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kDeviceUnavailable);
  EXPECT_THAT(group.error().text, HasSubstr("there is no NCCL here: libnot-there.so.2"));
  EXPECT_THAT(group.error().remedy, HasSubstr("nvidia-nccl"));
}

TEST_F(FakeCudaTest, SaysThatNcclIsOfAnotherVersion) {
  for (const auto& [version, words] : {std::pair{30100, "3.1"}, {20805, "2.8"}, {2804, "2.8"}, {21304, "2.13"}}) {
    fake_nccl().version = version;

    const auto group = (*open_backend(Kind::kFakeCuda))->new_group();

    ASSERT_FALSE(group) << version;
    EXPECT_EQ(group.error().code, ErrorCode::kDeviceUnavailable);
    EXPECT_EQ(group.error().text, std::string("NCCL is of version ") + words + ", and 2.14 or a newer 2 is needed");
  }
}

// ---- groups -------------------------------------------------------------------------------------------------------

TEST_F(FakeCudaTest, WhatFailsWithinNcclEndsTheBroadcastAndTheGroup) {
  const auto gpu = device();
  const Buffer buffer = *gpu->allocate(1000, "test");
  NobodyElse attendance;
  Communicator alone(gpu, {*backend_->new_group(), Rank{0}, 1}, attendance);
  ASSERT_TRUE(alone.join(std::chrono::minutes(1)));
  fake_nccl().fails_with = kInternal;

  const auto sent = alone.broadcast(buffer, Rank{0}, std::chrono::minutes(1));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kInternal);
  EXPECT_EQ(sent.error().text, "NCCL could not go on: some error (3)");
  EXPECT_EQ(fake_nccl().aborted, 1u);
}

TEST_F(FakeCudaTest, AGroupThatAllHaveLeftIsEndedAndNotAborted) {
  const auto gpu = device();
  NobodyElse attendance;
  Communicator alone(gpu, {*backend_->new_group(), Rank{0}, 1}, attendance);
  ASSERT_TRUE(alone.join(std::chrono::minutes(1)));

  ASSERT_TRUE(alone.leave(std::chrono::minutes(1)));

  EXPECT_EQ(fake_nccl().communicators, 0u);
  EXPECT_EQ(fake_nccl().aborted, 0u);
}

}  // namespace
}  // namespace pounce::device
