#include <gtest/gtest.h>

#include <string>

#include "transport/frame.h"

namespace pounce::transport {
namespace {

Message message_of(const std::vector<std::string>& frames) {
  Message message;
  for (const std::string& bytes : frames) message.push_back(Frame::copy(bytes));
  return message;
}

TEST(PackedMessagesTest, ComeOutAsTheyWentIn) {
  std::deque<Message> messages;
  messages.push_back(message_of({"header", "payload", ""}));
  messages.push_back(message_of({"another"}));
  const Frame packed = pack(messages, packable(messages));
  const auto out = unpack(packed.text(), 2);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->size(), 2u);
  EXPECT_EQ((*out)[0][1].text(), "payload");
  EXPECT_EQ((*out)[0][2].text(), "");
  EXPECT_EQ((*out)[1].front().text(), "another");
  EXPECT_EQ(messages.front().front().text(), "header") << "what was packed stays until it is sent";
}

TEST(PackedMessagesTest, AreAsManyAsTheBoundsAllow) {
  std::deque<Message> small, large, wide;
  for (std::size_t i = 0; i < 2 * kPackedMost; ++i) small.push_back(message_of({"small"}));
  for (int i = 0; i < 3; ++i) large.push_back(message_of({std::string(kPackedBytes / 2, 'x')}));
  wide.push_back(message_of(std::vector<std::string>(kPackedFrames + 1, "x")));
  wide.push_back(message_of({"small"}));
  EXPECT_EQ(packable(small), kPackedMost);
  EXPECT_EQ(packable(large), 1u);
  EXPECT_EQ(packable(wide), 1u);
}

TEST(PackedMessagesTest, AreRefusedWhereTheBytesAreNotSoMany) {
  std::deque<Message> messages;
  messages.push_back(message_of({"header", "payload"}));
  const Frame packed = pack(messages, 1);
  const std::string bytes(packed.text());
  EXPECT_FALSE(unpack(bytes, 0));
  EXPECT_FALSE(unpack(bytes, 2));
  EXPECT_FALSE(unpack(bytes, kPackedMost + 1));
  EXPECT_FALSE(unpack(bytes + "x", 1)) << "nothing stands behind them";
  EXPECT_FALSE(unpack(std::string(4, '\0') + bytes, 2)) << "a message has a frame at least";
  EXPECT_FALSE(unpack(std::string(kPackedBytes + 1, '\1'), 1));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(unpack(bytes.substr(0, cut), 1)) << cut;
}

}  // namespace
}  // namespace pounce::transport
