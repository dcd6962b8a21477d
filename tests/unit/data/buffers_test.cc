// Which way data takes, and its chunks.
#include "data/buffers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::data {
namespace {

using transport::Message;
using transport::Sent;

constexpr std::uint64_t kLarge = kWorthTheLane, kSmall = kWorthTheLane - 1;

struct Row {
  Facts facts;
  Way way;
};

class WayTest : public testing::TestWithParam<Row> {};

TEST_P(WayTest, IsTheFirstThatFits) { EXPECT_EQ(choose_way(GetParam().facts), GetParam().way); }

INSTANTIATE_TEST_SUITE_P(
    All, WayTest,
    testing::Values(Row{{.bytes = kLarge}, Way::kInChunks}, Row{{.bytes = kLarge, .has_lane = true}, Way::kOverLane},
                    Row{{.bytes = kSmall, .has_lane = true}, Way::kInChunks},
                    Row{{.bytes = 1, .passes_memory = true}, Way::kAsMemory},
                    Row{{.bytes = 0, .passes_memory = true}, Way::kInChunks},
                    Row{{.bytes = 9, .passes_memory = true, .worth_a_block = 10}, Way::kInChunks},
                    Row{{.bytes = 10, .passes_memory = true, .worth_a_block = 10}, Way::kAsMemory},
                    Row{{.bytes = kLarge, .passes_memory = true, .memory_is_limited = true}, Way::kInChunks},
                    Row{{.bytes = kLarge, .passes_memory = true, .can_be_handed_over = true, .memory_is_limited = true},
                        Way::kAsMemory},
                    Row{{.bytes = kLarge, .passes_memory = true, .has_lane = true}, Way::kAsMemory},
                    Row{{.bytes = kLarge, .passes_memory = true, .memory_is_limited = true, .has_lane = true},
                        Way::kOverLane}));

TEST(FrameOfBytesTest, KeepsABorrowedBufferUntilItIsGone) {
  auto owner = std::make_shared<std::string>(100'000, 'x');
  const std::weak_ptr<std::string> watch = owner;
  Bytes buffer{std::as_bytes(std::span(*owner)), std::move(owner)};
  auto frame = std::make_unique<transport::Frame>(to_frame(buffer, 0, buffer.size()));
  buffer = {};
  EXPECT_FALSE(watch.expired());
  frame.reset();
  EXPECT_TRUE(watch.expired());
}

class ChunkSenderTest : public testing::Test {
 protected:
  static std::vector<Bytes> three() { return {own_bytes(""), own_bytes(large()), own_bytes("end"), own_bytes("")}; }
  static std::string large() { return std::string(protocol::kChunkBytes, 'a') + "b"; }

  // As buffer, offset and size.
  std::vector<std::string> all_of(ChunkSender& sender) const {
    std::vector<std::string> sent;
    while (!sender.done())
      EXPECT_EQ(sender.send([&](Message& message) {
        const auto chunk = std::get<protocol::Chunk>(*protocol::decode(message[0].text(), protocol::kHeaderBytes));
        EXPECT_EQ(chunk.of, "name");
        sent.push_back(std::to_string(chunk.buffer) + " " + std::to_string(chunk.offset) + " " +
                       std::to_string(message[1].size()));
        return Sent::kYes;
      }),
                Sent::kYes);
    return sent;
  }
};

TEST_F(ChunkSenderTest, SendsEachBufferInOrderAndNothingOfEmptyOnes) {
  ChunkSender sender("name", three());
  EXPECT_EQ(all_of(sender), (std::vector<std::string>{"1 0 1048576", "1 1048576 1", "2 0 3"}));
}

TEST_F(ChunkSenderTest, GoesOnWhereAnEarlierConnectionEnded) {
  ChunkSender sender("name", three());
  EXPECT_TRUE(sender.go_on_at({1, protocol::kChunkBytes + 1}));
  EXPECT_EQ(all_of(sender), (std::vector<std::string>{"2 0 3"}));
}

TEST_F(ChunkSenderTest, SendsAllOfItWhereTheOtherEndNamesAPlaceThatIsNotThere) {
  for (const Position place : {Position{4, 0}, Position{2, 4}}) {
    ChunkSender sender("name", three());
    EXPECT_FALSE(sender.go_on_at(place));
    EXPECT_EQ(all_of(sender).size(), 3u);
  }
}

TEST_F(ChunkSenderTest, SendsAChunkAgainThatTheConnectionDidNotTake) {
  ChunkSender sender("name", {own_bytes("data")});
  EXPECT_EQ(sender.send([](Message&) { return Sent::kFull; }), Sent::kFull);
  EXPECT_FALSE(sender.done());
  EXPECT_EQ(all_of(sender), (std::vector<std::string>{"0 0 4"}));
}

TEST_F(ChunkSenderTest, HasNothingToSendOfEmptyBuffers) {
  EXPECT_TRUE(ChunkSender("name", {own_bytes(""), own_bytes("")}).done());
}

}  // namespace
}  // namespace pounce::data
