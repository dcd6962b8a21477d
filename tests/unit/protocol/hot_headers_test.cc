// The short way of writing and reading task and outcome is the general codec's, byte for byte, or declines.
#include "protocol/hot_headers.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "unit/protocol/examples.h"

namespace pounce::protocol {
namespace {

using nlohmann::json;

std::vector<Header> hot_examples() {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
  Outcome done{kTask, true, {}, {}, false, 1, 2, 3, 4};
  Outcome large{kTask, true, {}, {0, 1, 1ull << 63}, true, kLeast, kMost, -1, 0};
  return {Task{kTask, kFunction, {}, 0}, Task{kTask, kFunction, {kObject, id_of<ObjectId>(0xa0)}, 4'294'967'295u}, done, large};
}

// With a space the text is not of the usual form: the general codec reads it.
Result<Header> decode_generally(const std::string& text) { return decode("{ " + text.substr(1), kHeaderBytes); }

TEST(HotHeadersTest, WritesWhatTheGeneralCodecWrites) {
  for (const Header& header : hot_examples()) {
    const auto text = encode_hot(header);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, json::parse(*text).dump()) << "names in order, no spaces, plain numbers";
    const auto general = decode_generally(*text);
    ASSERT_TRUE(general) << general.error().text;
    EXPECT_EQ(encode_hot(*general), text) << "each field arrives";
  }
}

TEST(HotHeadersTest, ReadsWhatItWrites) {
  for (const Header& header : hot_examples()) {
    const auto again = decode_hot(*encode_hot(header));
    ASSERT_TRUE(again);
    EXPECT_EQ(encode_hot(*again), encode_hot(header));
  }
}

TEST(HotHeadersTest, LeavesEveryOtherMessageToTheGeneralCodec) {
  for (const Header& header : one_of_each()) {
    const auto* outcome = std::get_if<Outcome>(&header);
    const bool hot = std::holds_alternative<Task>(header) || (outcome != nullptr && outcome->error == Error{} && outcome->ok);
    EXPECT_EQ(encode_hot(header).has_value(), hot);
    EXPECT_EQ(decode_hot(encode(header)).has_value(), hot);
  }
}

TEST(HotHeadersTest, AFailureGoesTheGeneralWay) {
  Outcome failed{kTask, false, example_error(), {}, false, 1, 2, 3, 4};
  EXPECT_FALSE(encode_hot(failed));
  Outcome odd{kTask, true, example_error(), {}, false, 1, 2, 3, 4};
  EXPECT_FALSE(encode_hot(odd));
}

// A text that is not of the form is declined, or means the same to the general codec.
TEST(HotHeadersTest, NoDamagedTextMeansSomethingElseHere) {
  std::mt19937 random(1);
  for (const Header& header : hot_examples()) {
    const std::string text = *encode_hot(header);
    for (int i = 0; i < 20'000; ++i) {
      std::string damaged = text;
      const std::size_t at = random() % damaged.size();
      constexpr std::string_view kBytes = "0123456789abcdef-+.,:{}[]\" e\\x";
      switch (random() % 3) {
        case 0: damaged[at] = kBytes[random() % kBytes.size()]; break;
        case 1: damaged.erase(at, 1 + random() % 3); break;
        default: damaged.insert(at, 1, kBytes[random() % kBytes.size()]);
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
