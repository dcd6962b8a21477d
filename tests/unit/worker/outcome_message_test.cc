#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ids.h"
#include "protocol/message_limits.h"
#include "worker/interpreter/outcome_transfer.h"

namespace pounce::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

OutcomeMessage message_of(std::size_t pickle, const std::vector<std::size_t>& buffers) {
  KeptOutcome outcome;
  outcome.result.ok = true;
  outcome.result.pickle = own_bytes(std::string(pickle, 'p'));
  for (const std::size_t size : buffers) outcome.result.buffers.push_back(own_bytes(std::string(size, 'b')));
  return outcome_message(id_of<TaskId>(1), outcome);
}

std::vector<std::size_t> sizes(const std::vector<Bytes>& parts) {
  std::vector<std::size_t> sizes;
  for (const Bytes& part : parts) sizes.push_back(part.size());
  return sizes;
}

constexpr std::size_t kLarge = protocol::kInlineBytes;

TEST(OutcomeMessageTest, CarriesSmallBuffersInline) {
  const auto message = message_of(10, {1, 2, 3});
  EXPECT_THAT(sizes(message.payload), ElementsAre(10, 1, 2, 3));
  EXPECT_THAT(message.bulk, IsEmpty());
  EXPECT_THAT(message.header.buffers, IsEmpty());
}

TEST(OutcomeMessageTest, SendsEverythingFromTheFirstLargeBufferOnAsChunks) {
  const auto message = message_of(10, {1, kLarge, 3});
  EXPECT_THAT(sizes(message.payload), ElementsAre(10, 1));
  EXPECT_THAT(sizes(message.bulk), ElementsAre(kLarge, 3));
  EXPECT_THAT(message.header.buffers, ElementsAre(kLarge, 3));
}

TEST(OutcomeMessageTest, SendsALargePickleAsTheFirstOfTheChunks) {
  const auto message = message_of(kLarge + 1, {1});
  EXPECT_TRUE(message.header.pickle_follows);
  EXPECT_THAT(sizes(message.payload), ElementsAre(0));
  EXPECT_THAT(sizes(message.bulk), ElementsAre(kLarge + 1, 1));
}

TEST(OutcomeMessageTest, NeverMakesMoreFramesThanAMessageMayHave) {
  const auto message = message_of(10, std::vector<std::size_t>(3000, 1));
  EXPECT_EQ(message.payload.size() + 1, protocol::kFramesPerMessage - 1) << "the rest may come as memory, in one more";
  EXPECT_EQ(message.payload.size() - 1 + message.bulk.size(), 3000u);
}

}  // namespace
}  // namespace pounce::worker
