// Messages as bytes and back, whatever pieces they come in, and what is refused before memory is taken for it.
#include "tls/message_framing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "unit/tls/two_ends.h"

namespace pounce::tls {
namespace {

std::string written(MessageWriter& writer) {
  std::string all;
  while (!writer.empty()) {
    const auto next = writer.next();
    all.append(reinterpret_cast<const char*>(next.data()), next.size());
    writer.took(next.size());
  }
  return all;
}

// What the bytes come to, put where they are wanted at most `piece` at a time; the error ends it.
struct Read {
  std::vector<std::vector<std::string>> messages;
  std::string error;
};

Read read(MessageReader& reader, std::string_view bytes, std::size_t piece) {
  Read got;
  while (!bytes.empty()) {
    const auto place = reader.wanted();
    const std::size_t count = std::min({piece, place.size(), bytes.size()});
    std::memcpy(place.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    if (const auto good = reader.took(count); !good) {
      got.error = good.error().text;
      return got;
    }
    if (const auto message = reader.message()) got.messages.push_back(texts_of(*message));
  }
  return got;
}

TEST(MessageFramingTest, WritesCountSizesAndBytesLittleEndian) {
  MessageWriter writer;

  writer.add(message_of({"ab", "", "c"}));

  EXPECT_EQ(writer.bytes(), 4u + 3 * 8 + 3);
  EXPECT_EQ(written(writer), std::string("\3\0\0\0"
                                         "\2\0\0\0\0\0\0\0"
                                         "\0\0\0\0\0\0\0\0"
                                         "\1\0\0\0\0\0\0\0"
                                         "abc",
                                         31));
  EXPECT_EQ(writer.bytes(), 0u);
}

TEST(MessageFramingTest, ReadsWhatWasWrittenInAnyPieces) {
  const std::vector<std::vector<std::string>> messages{
      {""}, {"", ""}, {"header", pattern(1000, 1), "", pattern(3, 2)}, {"last"}};
  MessageWriter writer;
  for (const auto& one : messages) writer.add(message_of(one));
  const std::string bytes = written(writer);

  for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u, 5000u}) {
    MessageReader reader(1024, 1000);
    EXPECT_EQ(read(reader, bytes, piece).messages, messages) << piece;
    EXPECT_FALSE(reader.within());
  }
}

TEST(MessageFramingTest, KnowsThatAMessageIsUnderWay) {
  MessageReader reader(1024, 1000);
  EXPECT_FALSE(reader.within());

  read(reader, std::string("\1", 1), 1);

  EXPECT_TRUE(reader.within());
}

TEST(MessageFramingTest, RefusesNoFrameTooManyAndTooLargeOnes) {
  const auto error_of = [](std::string_view bytes) {
    MessageReader reader(3, 1000);
    return read(reader, bytes, 64).error;
  };

  EXPECT_EQ(error_of({"\0\0\0\0", 4}), "a message of 0 frames was announced");
  EXPECT_EQ(error_of({"\4\0\0\0", 4}), "a message of 4 frames was announced");
  EXPECT_EQ(error_of({"\xff\xff\xff\xff", 4}), "a message of 4294967295 frames was announced");
  EXPECT_EQ(error_of({"\1\0\0\0\xe9\3\0\0\0\0\0\0", 12}), "a frame of 1001 bytes was announced");
  EXPECT_EQ(error_of({"\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12}),
            "a frame of 18446744073709551615 bytes was announced");
  EXPECT_EQ(error_of({"\1\0\0\0\xe8\3\0\0\0\0\0\0", 12}), "");
}

TEST(MessageFramingTest, TakesMemoryForAFrameOnlyWhenItsTurnComes) {
  MessageReader reader(1024, kMiB);
  int asked = 0;
  reader.place_with([&](std::string_view, std::size_t, std::size_t) {
    ++asked;
    return Destination{};
  });

  read(reader,
       {"\3\0\0\0"
        "\1\0\0\0\0\0\0\0"
        "\1\0\0\0\0\0\0\0"
        "\0\0\x10\0\0\0\0\0"
        "h",
        29},
       64);
  EXPECT_EQ(asked, 1);  // the third is not thought of yet
  read(reader, "x", 1);

  EXPECT_EQ(asked, 2);
}

TEST(MessageFramingTest, APlaceOfAnotherSizeIsNotUsed) {
  MessageReader reader(1024, kMiB);
  std::string place(10, '-');
  reader.place_with([&](std::string_view, std::size_t, std::size_t) {
    return Destination{std::as_writable_bytes(std::span(place)), nullptr};
  });
  MessageWriter writer;
  writer.add(message_of({"h", "12345"}));

  const Read got = read(reader, written(writer), 64);

  EXPECT_EQ(got.messages, (std::vector<std::vector<std::string>>{{"h", "12345"}}));
  EXPECT_EQ(place, std::string(10, '-'));
}

}  // namespace
}  // namespace pounce::tls
