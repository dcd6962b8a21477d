// The short way of writing and reading task and outcome is the general codec's, byte for byte, or declines.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "protocol/codec.h"
#include "unit/model/cases.h"
#include "unit/protocol/examples.h"

namespace pounce::protocol {
namespace {

bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
}

// Each field of the message with each kind of value, beside others that are not set and beside others that are.
template <class Message>
std::vector<Header> cases_of(const Message& full) {
  std::vector<Header> all{Message{}, full};
  for (const Message& others : {Message{}, full})
    for_each_case(others, [&](std::string_view, const Message& one) { all.push_back(one); });
  return all;
}

std::vector<Header> hot_examples() {
  std::vector<Header> all = cases_of(Task{kTask, kFunction, {kObject, id_of<ObjectId>(0xa0)}, 3});
  for (Header& outcome : cases_of(Outcome{kTask, true, {}, {0, 1, 1ull << 63}, {64}, true, true, {}, 1, 4, {2, 3}}))
    all.push_back(std::move(outcome));
  for (Header& ack : cases_of(Ack{{kTask, id_of<TaskId>(0xb0)}, {kTask}})) all.push_back(std::move(ack));
  return all;
}

TEST(HotHeadersTest, WritesForEachFieldAndKindOfValueWhatTheGeneralCodecWrites) {
  for (const Header& header : hot_examples()) {
    const std::string general = encode_generally(header);
    const auto hot = encode_hot(header);
    EXPECT_EQ(hot.has_value(), is_plain(general)) << general;
    if (hot) {
      EXPECT_EQ(*hot, general);
    }
    EXPECT_EQ(encode(header), general);
  }
}

TEST(HotHeadersTest, ReadsEachFieldAndKindOfValueAsTheGeneralCodecDoes) {
  for (const Header& header : hot_examples()) {
    const std::string text = encode_generally(header);
    const auto hot = decode_hot(text);
    const auto general = decode_generally(text);
    ASSERT_TRUE(general) << general.error().text;
    EXPECT_EQ(encode_generally(*general), text) << "each field arrives";
    EXPECT_EQ(hot.has_value(), is_plain(text)) << text;
    if (hot) {
      EXPECT_EQ(encode_generally(*hot), text);
    }
  }
}

TEST(HotHeadersTest, LeavesEveryOtherMessageToTheGeneralCodec) {
  for (const Header& header : one_of_each()) {
    if (std::holds_alternative<Task>(header) || std::holds_alternative<Outcome>(header) ||
        std::holds_alternative<Ack>(header))
      continue;
    EXPECT_FALSE(encode_hot(header));
    EXPECT_FALSE(decode_hot(encode(header)));
  }
}

// A text that is not of the form is declined, or means the same to the general codec.
TEST(HotHeadersTest, NoDamagedTextMeansSomethingElseHere) {
  std::mt19937 random(1);
  Outcome failed{
      kTask, false, Error{ErrorCode::kTaskRaised, "ValueError: no", "", {{"line", "3"}}}, {7}, {}, false, false, {}, 1,
      4,     {2, 3}};
  Outcome done{kTask, true, {}, {0, 1, 1ull << 63}, {64}, true, true, {}, 1, 4, {2, 3}};
  for (const Header& header : {Header(Task{kTask, kFunction, {kObject}, 3}), Header(failed), Header(done)}) {
    const std::string text = *encode_hot(header);
    for (int i = 0; i < 20'000; ++i) {
      std::string damaged = text;
      const std::size_t at = random() % damaged.size();
      constexpr std::string_view kBytes = "0123456789abcdef-+.,:{}[]\" e\\x";
      switch (random() % 3) {
        case 0:
          damaged[at] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 3);
          break;
        default:
          damaged.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
      const auto hot = decode_hot(damaged);
      if (!hot) continue;
      const auto general = decode_generally(damaged);
      ASSERT_TRUE(general) << damaged;
      ASSERT_EQ(encode(*general), encode(*hot)) << damaged;
    }
  }
}

}  // namespace
}  // namespace pounce::protocol
