// Buffers that go to a device while they come, on each kind of device.
#include <gmock/gmock.h>

#include <thread>

#include "contract/device/kinds.h"
#include "device/device.h"
#include "device/transfer.h"

namespace pounce::device {
namespace {

constexpr StagingSize kSmall{.chunk_bytes = 64 << 10, .chunks = 2};

class PlacementTest : public OnEachKind {
 protected:
  void TearDown() override {
    device_.reset();
    OnEachKind::TearDown();
  }

  Placement::Open open() {
    return [this]() -> Result<std::shared_ptr<Device>> {
      ++opened_;
      auto device = Device::open(*backend_, Ordinal{0}, kSmall);
      if (device) device_ = *device;
      return device;
    };
  }
  Placement placement(std::vector<std::uint64_t> sizes) {
    return {DeviceName{}, open(), std::move(sizes), "object 1234"};
  }

  std::shared_ptr<Device> device_;
  int opened_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, PlacementTest, testing::Values(Kind::kHost, Kind::kFakeCuda, Kind::kCuda),
                         testing::PrintToStringParamName());

TEST_P(PlacementTest, TakesNothingOfTheDeviceBeforeSomethingComes) {
  const auto placement = this->placement({1000});

  EXPECT_EQ(opened_, 0);
}

TEST_P(PlacementTest, PutsPiecesInAnyOrderWhereTheyBelong) {
  const auto first = pattern(300'007, 1), second = pattern(100'003, 2);
  auto placement = this->placement({first.size(), 0, second.size()});

  ASSERT_TRUE(placement.write(2, 50'000, std::span(second).subspan(50'000)));
  ASSERT_TRUE(placement.write(0, 200'000, std::span(first).subspan(200'000)));
  ASSERT_TRUE(placement.write(2, 0, std::span(second).first(50'000)));
  ASSERT_TRUE(placement.write(0, 0, std::span(first).first(200'000)));
  const auto placed = placement.finish();

  ASSERT_TRUE(placed) << placed.error().text;
  EXPECT_EQ(opened_, 1);
  ASSERT_EQ((*placed)->buffers.size(), 3u);
  EXPECT_EQ(checksum_on_device(GetParam(), (*placed)->buffers[0]), checksum(first));
  EXPECT_EQ((*placed)->buffers[1].size(), 0u);
  EXPECT_EQ(checksum_on_device(GetParam(), (*placed)->buffers[2]), checksum(second));
}

TEST_P(PlacementTest, TakesPiecesFromSeveralThreadsAtOnce) {
  constexpr std::size_t kThreads = 4, kPiece = 60'011;
  const auto bytes = pattern(kThreads * 10 * kPiece);
  auto placement = this->placement({bytes.size()});
  std::vector<std::jthread> threads;

  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < kThreads * 10; i += kThreads)
        EXPECT_TRUE(placement.write(0, i * kPiece, std::span(bytes).subspan(i * kPiece, kPiece)));
    });
  threads.clear();
  const auto placed = placement.finish();

  ASSERT_TRUE(placed) << placed.error().text;
  EXPECT_EQ(checksum_on_device(GetParam(), (*placed)->buffers[0]), checksum(bytes));
}

TEST_P(PlacementTest, CountsItsBuffersAsLongAsSomebodyHasThem) {
  auto placed = [&] {
    auto placement = this->placement({1000, 2000});
    return *placement.finish();
  }();
  EXPECT_EQ(device_->use().holders, (std::map<std::string, std::uint64_t>{{"object 1234", 3000}}));

  placed.reset();

  EXPECT_EQ(device_->use().bytes, 0u);
  EXPECT_EQ(device_->use().most_bytes, 3000u);
}

TEST_P(PlacementTest, SaysWithEachPieceThatItDoesNotFitAndKeepsNothingOfIt) {
  auto placement = this->placement({1000, std::uint64_t{1} << 46});
  const auto bytes = pattern(10);

  const auto first = placement.write(0, 0, bytes), second = placement.write(0, 10, bytes);
  const auto placed = placement.finish();

  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(second.error().text, first.error().text);
  EXPECT_EQ(placed.error().text, first.error().text);
  EXPECT_EQ(device_->use().bytes, 0u);
}

TEST_P(PlacementTest, RefusesMoreBytesThanThereIsRoomFor) {
  auto placement = this->placement({100});
  const auto bytes = pattern(101);

  EXPECT_FALSE(placement.write(0, 0, bytes));
  EXPECT_FALSE(placement.write(0, std::uint64_t(-1), std::span(bytes).first(1)));
  EXPECT_FALSE(placement.finish());
}

TEST_P(PlacementTest, IsGivenUpInTheMiddle) {
  const auto bytes = pattern(300'000);
  {
    auto placement = this->placement({2 * bytes.size()});
    ASSERT_TRUE(placement.write(0, 0, bytes));
  }

  EXPECT_EQ(device_->use().bytes, 0u);
}

TEST(PlacementOnFailingCuda, TellsWhatACopyRanInto) {
  reset_fakes();
  auto backend = open_backend(Kind::kFakeCuda);
  const auto device = Device::open(**backend, Ordinal{0}, kSmall);
  {
    Placement placement(DeviceName{}, [&] { return device; }, {100}, "test");
    fake_cuda().fails = "cudaMemcpyAsync", fake_cuda().fails_with = 700;
    const auto bytes = pattern(100);

    const auto written = placement.write(0, 0, bytes);
    const auto placed = placement.finish();

    EXPECT_TRUE(written) << "the copy has not begun yet";
    ASSERT_FALSE(placed);
    EXPECT_EQ(placed.error().code, ErrorCode::kDeviceFailed);
  }
  fake_cuda().last_error = 0;
}

}  // namespace
}  // namespace pounce::device
