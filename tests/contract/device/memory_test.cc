// Memory of a device, and what goes into it and comes out of it, on each kind of device.
#include <gmock/gmock.h>

#include <thread>

#include "contract/device/kinds.h"
#include "device/device.h"
#include "device/transfer.h"

namespace pounce::device {
namespace {

constexpr StagingSize kSmall{.chunk_bytes = 64 << 10, .chunks = 2};

class DeviceMemory : public OnEachKind {
 protected:
  void SetUp() override {
    OnEachKind::SetUp();
    if (IsSkipped()) return;
    auto opened = Device::open(*backend_, Ordinal{0}, kSmall);
    ASSERT_TRUE(opened) << opened.error().text;
    device_ = std::move(*opened);
  }
  void TearDown() override {
    device_.reset();
    OnEachKind::TearDown();
  }

  Buffer allocated(std::size_t size, const std::string& holder = "test") {
    auto buffer = device_->allocate(size, holder);
    EXPECT_TRUE(buffer) << buffer.error().text;
    return std::move(*buffer);
  }

  // In pieces as a network gives them: none ends where a chunk does.
  static Result<void> upload(const Buffer& to, std::span<const std::byte> bytes) {
    constexpr std::size_t kPiece = 24'007;
    Upload upload(to);
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size())))
      if (auto written = upload.write(bytes.first(std::min(kPiece, bytes.size()))); !written) return written;
    return upload.finish();
  }

  static std::vector<std::byte> downloaded(const Buffer& from) {
    std::vector<std::byte> all;
    Download download(from);
    for (auto piece = download.next();; piece = download.next()) {
      EXPECT_TRUE(piece) << piece.error().text;
      if (!piece || piece->empty()) return all;
      all.insert(all.end(), piece->begin(), piece->end());
    }
  }

  std::shared_ptr<Device> device_;
};

INSTANTIATE_TEST_SUITE_P(, DeviceMemory, testing::Values(Kind::kHost, Kind::kFakeCuda, Kind::kCuda),
                         testing::PrintToStringParamName());

TEST_P(DeviceMemory, TellsItsDevicesApart) {
  const auto devices = backend_->devices();

  ASSERT_TRUE(devices) << devices.error().text;
  ASSERT_GE(devices->size(), 1u);
  for (std::size_t i = 0; i < devices->size(); ++i) {
    EXPECT_THAT((*devices)[i].uuid, testing::Not(testing::IsEmpty()));
    EXPECT_THAT((*devices)[i].model, testing::Not(testing::IsEmpty()));
    EXPECT_GT((*devices)[i].memory.total_bytes, 0u);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE((*devices)[i].uuid, (*devices)[j].uuid);
  }
}

TEST_P(DeviceMemory, OpensNoDeviceThatIsNotThere) {
  const auto opened = Device::open(*backend_, Ordinal{4000});

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDeviceUnavailable);
}

TEST_P(DeviceMemory, CountsWhoHasHowMuch) {
  std::optional<Buffer> weights = allocated(3 * kMiB, "weights");
  const Buffer batch = allocated(kMiB, "batch");
  weights.reset();

  const MemoryUse use = device_->use();

  EXPECT_EQ(use.bytes, kMiB);
  EXPECT_EQ(use.most_bytes, 4 * kMiB);
  EXPECT_THAT(use.holders, testing::ElementsAre(testing::Pair("batch", kMiB)));
}

TEST_P(DeviceMemory, TakesItFromTheDeviceAndGivesItBack) {
  const std::uint64_t before = device_->room()->free_bytes;
  std::optional<Buffer> buffer = allocated(8 * kMiB);
  const std::uint64_t meanwhile = device_->room()->free_bytes;
  buffer.reset();

  EXPECT_LE(meanwhile + 8 * kMiB, before);
  EXPECT_EQ(device_->room()->free_bytes, before);
}

TEST_P(DeviceMemory, IsTheSameOnTheDeviceAndBackWhateverItsSize) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kSmall.chunk_bytes - 1, kSmall.chunk_bytes,
                                 kSmall.chunk_bytes + 1, 7 * kSmall.chunk_bytes + 3}) {
    const auto bytes = pattern(size);
    const Buffer buffer = allocated(size);

    const auto sent = upload(buffer, bytes);

    ASSERT_TRUE(sent) << sent.error().text;
    EXPECT_EQ(checksum_on_device(GetParam(), buffer), checksum(bytes)) << size;
    EXPECT_EQ(downloaded(buffer), bytes) << size;
  }
}

TEST_P(DeviceMemory, IsReceivedIntoPinnedMemoryWithoutAnotherCopy) {
  const auto bytes = pattern(5 * kSmall.chunk_bytes + 11);
  const Buffer buffer = allocated(bytes.size());
  Upload upload(buffer);

  std::size_t came = 0;
  for (auto room = upload.room(); room && !room->empty(); room = upload.room()) {
    const std::size_t size = std::min<std::size_t>(room->size(), 10'000);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(came), size, room->begin());
    upload.filled(size);
    came += size;
  }
  const auto finished = upload.finish();

  ASSERT_TRUE(finished) << finished.error().text;
  EXPECT_EQ(came, bytes.size());
  EXPECT_EQ(checksum_on_device(GetParam(), buffer), checksum(bytes));
}

TEST_P(DeviceMemory, RefusesMoreBytesThanWereAnnounced) {
  const Buffer buffer = allocated(1000);
  Upload upload(buffer);

  const auto written = upload.write(pattern(1001));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kBadRequest);
}

TEST_P(DeviceMemory, IsNotWholeBeforeAllBytesCame) {
  const Buffer buffer = allocated(3 * kSmall.chunk_bytes);
  Upload upload(buffer);
  ASSERT_TRUE(upload.write(pattern(2 * kSmall.chunk_bytes + 1)));

  const auto finished = upload.finish();

  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kBadRequest);
}

TEST_P(DeviceMemory, OfATransferThatWasLeftInTheMiddleIsFreeAgainAndItsChunksToo) {
  const auto bytes = pattern(4 * kSmall.chunk_bytes);
  for (int i = 0; i < 3; ++i) {  // more often than there are chunks
    const Buffer buffer = allocated(bytes.size());
    {
      Upload upload(buffer);
      ASSERT_TRUE(upload.write(std::span(bytes).first(kSmall.chunk_bytes + 1)));
    }
    Download download(buffer);
    ASSERT_TRUE(download.next());
  }
  const Buffer buffer = allocated(bytes.size());

  ASSERT_TRUE(upload(buffer, bytes));

  EXPECT_EQ(downloaded(buffer), bytes);
  EXPECT_EQ(device_->use().bytes, bytes.size());
}

TEST_P(DeviceMemory, OfSeveralTransfersAtOnceIsEachItsOwn) {
  constexpr std::uint8_t kTransfers = 4;  // more than there are chunks
  std::vector<int> right(kTransfers);
  {
    std::vector<std::jthread> threads;
    for (std::uint8_t i = 0; i < kTransfers; ++i)
      threads.emplace_back([this, i, &right] {
        const auto bytes = pattern(9 * kSmall.chunk_bytes + i, i);
        const Buffer buffer = allocated(bytes.size());
        right[i] = upload(buffer, bytes).has_value() && downloaded(buffer) == bytes;
      });
  }
  EXPECT_THAT(right, testing::Each(1));
}

TEST_P(DeviceMemory, ThatIsNotThereIsAnErrorThatSaysWhoHasIt) {
  const Buffer model = allocated(3 * kMiB, "model");
  const std::uint64_t total = device_->room()->total_bytes;

  const auto more = device_->allocate(total, "batch");

  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(more.error().text, testing::HasSubstr("model 3.0 MiB"));
  EXPECT_EQ(more.error().context.at("most_bytes"), std::to_string(3 * kMiB));
  EXPECT_EQ(more.error().context.at("asked_bytes"), std::to_string(total));
  EXPECT_EQ(more.error().context.at("total_bytes"), std::to_string(total));
  EXPECT_TRUE(device_->allocate(kMiB, "batch"));  // the device goes on
}

TEST_P(DeviceMemory, LivesAsLongAsSomebodyHasIt) {
  const auto bytes = pattern(1000);
  const Buffer buffer = allocated(bytes.size());
  device_.reset();

  ASSERT_TRUE(upload(buffer, bytes));

  EXPECT_EQ(downloaded(buffer), bytes);
}

}  // namespace
}  // namespace pounce::device
