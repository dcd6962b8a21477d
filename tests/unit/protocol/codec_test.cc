// What a peer of another version, a broken one or a hostile one may send, and what becomes of it: never an exception.
#include "protocol/codec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "protocol/message_limits.h"
#include "protocol/state_files.h"
#include "unit/protocol/examples.h"

namespace pounce::protocol {
namespace {

using nlohmann::json;

ErrorCode refusal_of(std::string_view bytes) {
  const auto decoded = decode(bytes, kHeaderBytes);
  EXPECT_FALSE(decoded) << bytes;
  return decoded ? ErrorCode::kInternal : decoded.error().code;
}

TEST(CodecTest, IgnoresFieldsItDoesNotKnow) {
  for (const Header& example : one_of_each()) {
    json j = json::parse(encode(example));
    j["added_in_a_later_version"] = {{"deep", {1, 2, 3}}};

    const auto decoded = decode(j.dump(), kHeaderBytes);

    ASSERT_TRUE(decoded) << decoded.error().text;
    EXPECT_EQ(encode(*decoded), encode(example));
  }
}

TEST(CodecTest, TakesTheDefaultOfAFieldThatIsMissing) {
  const auto decoded = decode(R"({"v":2,"type":"welcome"})", kHeaderBytes);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Welcome>(*decoded).heartbeat_ms, 5000u);
  EXPECT_TRUE(std::get<Welcome>(*decoded).control.empty());
}

TEST(CodecTest, RefusesAnUnknownType) {
  const auto decoded = decode(R"({"v":2,"type":"make_coffee"})", kHeaderBytes);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kProtocol);
  EXPECT_NE(decoded.error().text.find("make_coffee"), std::string::npos);
}

TEST(CodecTest, RefusesAnotherVersionAndNamesBoth) {
  const auto decoded = decode(R"({"v":3,"type":"beat"})", kHeaderBytes);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kVersionMismatch);
  EXPECT_EQ(decoded.error().text, "the peer speaks protocol 3, this side 2");
}

TEST(CodecTest, RefusesWhatIsOverTheLimitBeforeItLooksInside) {
  const std::string bytes = encode(Beat{});

  EXPECT_TRUE(decode(bytes, bytes.size()));
  const auto decoded = decode(bytes, bytes.size() - 1);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge);
}

TEST(CodecTest, RefusesWhatIsNotAnObjectOfFields) {
  for (const char* bytes :
       {"", "null", "1", "\"hello\"", "[]", "[{}]", "{", "{}}", "\xff\xfe", "{\"v\":2,\"type\":\"beat\"} x"})
    EXPECT_EQ(refusal_of(bytes), ErrorCode::kProtocol) << bytes;
}

TEST(CodecTest, RefusesFieldsOfTheWrongKind) {
  for (const char* bytes : {
           R"({"v":"2","type":"beat"})",
           R"({"v":1e300,"type":"beat"})",  // read as an int, it was what the language leaves undefined
           R"({"v":18446744073709551615,"type":"beat"})",
           R"({"v":2,"type":7})",
           R"({"v":2,"type":"beat","sent_ns":"soon"})",
           R"({"v":2,"type":"close_session","session":"short"})",
           R"({"v":2,"type":"close_session","session":12})",
           R"({"v":2,"type":"close_session","session":"1011121314151617181920212223242X"})",
           R"({"v":2,"type":"demand","requests":{"id":1}})",
           R"({"v":2,"type":"demand","requests":[7]})",
           R"({"v":2,"type":"demand","requests":[{"resources":[]}]})",
           R"({"v":2,"type":"refused","error":"no"})",
           R"({"v":2,"type":"hello","role":"king"})",
           R"({"v":2,"type":"hello","proof":"trust me"})",
           R"({"v":2,"type":"hello","proof":3})",
           R"({"v":2,"type":"object","buffers":[1,"two"]})",
           R"({"v":2,"type":"chunk","buffer":-1})",
           R"({"v":2,"type":"chunk","offset":1.5})",
           R"({"v":2,"type":"walltime","end_time_s":9223372036854775808})",
           R"({"v":2,"type":"queue_ask","question":4294967296})",
       })
    EXPECT_EQ(refusal_of(bytes), ErrorCode::kProtocol) << bytes;
}

TEST(CodecTest, ReadsAStateOfALaterVersionAsUnknown) {
  json j = json::parse(encode(QueryIs{{kTask}, {RemoteTaskState::kRunning}}));
  j["states"] = {"meditating"};

  const auto decoded = decode(j.dump(), kHeaderBytes);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<QueryIs>(*decoded).states.front(), RemoteTaskState::kUnknown);
}

TEST(CodecTest, ReadsAnErrorCodeOfALaterVersionAsInternal) {
  const auto decoded =
      decode(R"({"v":2,"type":"refused","error":{"code":"solar_flare","text":"look up"}})", kHeaderBytes);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Refused>(*decoded).error.code, ErrorCode::kInternal);
  EXPECT_EQ(std::get<Refused>(*decoded).error.text, "look up");
}

// Of a value that holds its own kind there is no end by itself.
TEST(CodecTest, RefusesCausesThatLieTooDeepBehindEachOther) {
  std::string deep = R"({"cause":)",
              end = R"(,"lease":"2021222324252627","only_if_idle":false,"type":"end_worker","v":2})";
  for (int i = 0; i < 2'000; ++i) deep += R"({"because":[)", end = "]}" + end;

  EXPECT_EQ(refusal_of(deep + R"({"code":"idle"})" + end), ErrorCode::kProtocol);
}

TEST(CodecTest, SurvivesNestingAsDeepAsALimitAllows) {
  EXPECT_EQ(refusal_of(std::string(kHeaderBytes, '[')), ErrorCode::kProtocol);
  std::string nested = R"({"v":2,"type":"beat","x":)" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  EXPECT_TRUE(decode(nested, kHeaderBytes));
}

TEST(CodecTest, AnswersEveryOneByteChangeOfEveryMessage) {
  int refused = 0, accepted = 0;
  for (const Header& example : one_of_each()) {
    const std::string good = encode(example);
    for (std::size_t i = 0; i < good.size(); ++i)
      for (const int flip : {0x01, 0x20, 0x80}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ flip);
        const auto decoded = decode(bad, kHeaderBytes);
        decoded ? ++accepted : ++refused;
        EXPECT_TRUE(!decoded || decode(encode(*decoded), kHeaderBytes)) << bad;
      }
  }
  // Both happen: a letter of a text may change; a brace or a byte that is no UTF-8 may not.
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 1000);
}

TEST(CodecTest, SendsTextThatIsNotUtf8WithAReplacementCharacter) {
  const auto decoded = decode(encode(Notice{"before\xff"
                                            "after"}),
                              kHeaderBytes);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Notice>(*decoded).text,
            "before\xef\xbf\xbd"
            "after");
}

TEST(CodecTest, WritesAndReadsTheEndpointFile) {
  EndpointFile file;
  file.instance = "0a0b0c0d0e0f";
  file.pid = 4711;
  file.key = kKey;
  file.handshake = {"ipc:///tmp/d", "tcp://10.77.0.254:1"};
  file.proof = "munge";
  file.classes = {"cheetah", "lion"};
  file.parked = "/home/alice/.local/state/pounce/local/parked";
  file.parked_most_mib = 2048;
  file.parked_keep_s = 3600;
  file.cell_output_mib = 64;
  file.keep_cells = 1;
  file.notify = "/etc/pounce/notify";

  const auto read = decode_endpoint_file(encode_endpoint_file(file));

  ASSERT_TRUE(read);
  EXPECT_EQ(read->handshake, file.handshake);
  EXPECT_EQ(read->classes, file.classes);
  EXPECT_EQ(read->parked, file.parked);
  EXPECT_EQ(read->parked_most_mib, 2048u);
  EXPECT_EQ(read->parked_keep_s, 3600);
  EXPECT_EQ(read->cell_output_mib, 64u);
  EXPECT_EQ(read->keep_cells, 1u);
  EXPECT_EQ(read->notify, file.notify);
  EXPECT_EQ(encode_endpoint_file(*read), encode_endpoint_file(file));
  EXPECT_EQ(encode_endpoint_file(file).find('\n'), std::string::npos);
}

TEST(CodecTest, RefusesAnEndpointFileOfAnotherVersionOrHalfWritten) {
  EXPECT_EQ(decode_endpoint_file(R"({"v":9})").error().code, ErrorCode::kVersionMismatch);
  EXPECT_EQ(decode_endpoint_file(R"({"v":1,"inst)").error().code, ErrorCode::kProtocol);
  EXPECT_EQ(decode_endpoint_file("").error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace pounce::protocol
