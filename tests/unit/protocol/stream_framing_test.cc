// Records on a byte stream that cuts and joins them as it likes.
#include "protocol/stream_framing.h"

#include <gtest/gtest.h>

namespace pounce::protocol {
namespace {

std::optional<std::string> next_of(RecordReader& reader) {
  auto record = reader.next();
  EXPECT_TRUE(record) << record.error().text;
  return record ? *record : std::nullopt;
}

TEST(StreamFramingTest, StartsWithTheLengthInFourBytesBigEndian) {
  EXPECT_EQ(frame_record("abc"), std::string("\0\0\0\3abc", 7));
  EXPECT_EQ(frame_record(std::string(0x01020304, 'x')).substr(0, 4), "\x01\x02\x03\x04");
}

TEST(StreamFramingTest, GivesRecordsBackWhereverTheStreamIsCut) {
  const std::string stream = frame_record("first") + frame_record(std::string("\0\n", 2)) + frame_record("third");
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    RecordReader reader(100);
    std::vector<std::string> records;
    for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)}) {
      reader.append(part);
      while (auto record = next_of(reader)) records.push_back(*record);
    }
    EXPECT_EQ(records, (std::vector<std::string>{"first", std::string("\0\n", 2), "third"})) << "cut at " << cut;
  }
}

TEST(StreamFramingTest, WaitsForTheLastByte) {
  RecordReader reader(100);
  reader.append(frame_record("abc").substr(0, 6));
  EXPECT_EQ(next_of(reader), std::nullopt);

  reader.append("c");

  EXPECT_EQ(next_of(reader), "abc");
}

TEST(StreamFramingTest, TakesARecordAsLongAsTheLimitAndRefusesALongerOneAtOnce) {
  RecordReader exact(3), over(3);
  exact.append(frame_record("abc"));
  EXPECT_EQ(next_of(exact), "abc");

  over.append(std::string("\0\0\0\4", 4));  // its content has not even come

  ASSERT_FALSE(over.next());
  EXPECT_EQ(over.next().error().code, ErrorCode::kProtocol);
}

TEST(StreamFramingTest, RefusesAnEmptyRecordAndStaysRefusing) {
  RecordReader reader(100);
  reader.append(std::string(4, '\0') + frame_record("later"));

  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace pounce::protocol
