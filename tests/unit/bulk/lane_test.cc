// Both ends of a lane, over loopback, with their threads.
#include "bulk/lane.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>

#include "bulk/acceptor.h"
#include "bulk/stream_thread.h"
#include "protocol/codec.h"

namespace pounce::bulk {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

std::string pattern(std::size_t size, std::uint32_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u + seed) >> 11);
  return text;
}

Bytes offered(const std::shared_ptr<const std::string>& text) { return {std::as_bytes(std::span(*text)), text}; }
std::vector<Bytes> offered(const std::vector<std::string>& texts) {
  std::vector<Bytes> all;
  for (const std::string& text : texts) all.push_back(offered(std::make_shared<const std::string>(text)));
  return all;
}

// Where something is fetched to.
struct Memory {
  explicit Memory(std::vector<std::string> like) : texts(std::move(like)) {
    for (std::string& text : texts) text.assign(text.size(), '\0');
  }
  std::vector<Target> targets() {
    std::vector<Target> all;
    for (std::string& text : texts) all.push_back({text.size(), std::as_writable_bytes(std::span(text)), {}, {}});
    return all;
  }
  std::vector<std::string> texts;
};

struct LaneTest : testing::Test {
  void SetUp() override {
    if (!Lane::available()) GTEST_SKIP() << "this build has no OpenSSL: data takes ZeroMQ";
    auto bound = Acceptor::bind("tcp://127.0.0.1:*");
    ASSERT_TRUE(bound) << bound.error().text;
    acceptor = std::move(*bound);
    client.emplace(acceptor->endpoint(), *credentials_of(to_bytes(acceptor->keys_for("one"))));
  }

  // One event of either, or one minute.
  template <class Wanted>
  std::optional<Wanted> next(Lane& lane) {
    const TimePoint deadline = Clock::now() + std::chrono::minutes(1);
    while (Clock::now() < deadline) {
      while (auto accepted = acceptor->accept()) worker.add(std::move(accepted->second));
      for (Event& event : lane.events()) told[&lane].push_back(std::move(event));
      while (!told[&lane].empty()) {
        const Event event = std::move(told[&lane].front());
        told[&lane].pop_front();
        if (const auto* wanted = std::get_if<Wanted>(&event)) return *wanted;
      }
      pollfd all[] = {{acceptor->fd(), POLLIN, 0}, {lane.fd(), POLLIN, 0}};
      ::poll(all, 2, 1000);
    }
    return std::nullopt;
  }
  bool whole(Lane& lane, const std::string& of) {
    const auto event = next<Whole>(lane);
    return event && event->of == of;
  }

  std::unique_ptr<Acceptor> acceptor;
  std::optional<Lane> client;
  Lane worker;
  std::map<Lane*, std::deque<Event>> told;
};

TEST_F(LaneTest, AWorkerFetchesWhatAClientOffers) {
  const std::vector<std::string> sent{pattern(9 * kMiB + 17, 1), "", pattern(1, 2), pattern(4 * kMiB, 3)};
  Memory memory(sent);
  client->offer("object", offered(sent));

  worker.fetch("object", memory.targets(), {});

  ASSERT_TRUE(whole(worker, "object"));
  EXPECT_EQ(memory.texts, sent);
}

TEST_F(LaneTest, AClientFetchesWhatAWorkerOffers) {
  const std::vector<std::string> sent{pattern(20 * kMiB + 1, 4)};
  Memory memory(sent);
  worker.offer("task", offered(sent));

  client->fetch("task", memory.targets(), {});

  ASSERT_TRUE(whole(*client, "task"));
  EXPECT_EQ(memory.texts, sent);
}

TEST_F(LaneTest, BothDirectionsAtOnceAndManyTransfersOneAfterTheOther) {
  std::vector<Memory> there, back;
  std::vector<std::vector<std::string>> sent;
  for (std::uint32_t i = 0; i < 8; ++i) {
    sent.push_back({pattern(5 * kMiB + i, i)});
    there.emplace_back(sent.back()), back.emplace_back(sent.back());
    client->offer("o" + std::to_string(i), offered(sent.back()));
    worker.offer("t" + std::to_string(i), offered(sent.back()));
  }

  for (std::uint32_t i = 0; i < 8; ++i) {
    worker.fetch("o" + std::to_string(i), there[i].targets(), {});
    client->fetch("t" + std::to_string(i), back[i].targets(), {});
  }

  for (std::uint32_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(next<Whole>(worker));
    ASSERT_TRUE(next<Whole>(*client))
        << "all of them: what is still on its way would be written to memory that is gone";
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(there[i].texts, sent[i]);
    EXPECT_EQ(back[i].texts, sent[i]);
  }
}

TEST_F(LaneTest, MuchDataTakesAsManyConnectionsAsThereAreProcessorsFor) {
  const std::vector<std::string> sent{pattern(300 * kMiB, 5)};
  Memory memory(sent);
  worker.offer("task", offered(sent));
  client->fetch("task", memory.targets(), {});

  ASSERT_TRUE(whole(*client, "task"));

  EXPECT_EQ(client->streams(), most_streams());
  EXPECT_EQ(memory.texts, sent);
}

TEST_F(LaneTest, LittleDataTakesOneConnectionAndNoneNone) {
  EXPECT_EQ(client->streams(), 0u);
  client->offer("object", offered(std::vector<std::string>{pattern(5 * kMiB, 6)}));
  EXPECT_EQ(client->streams(), 1u);
}

TEST_F(LaneTest, GoesOnFromWhereAnEarlierLaneEnded) {
  const std::vector<std::string> sent{pattern(6 * kMiB, 7), pattern(6 * kMiB, 8)};
  Memory memory(sent);
  memory.texts[0] = sent[0];  // came already
  client->offer("object", offered(sent));

  worker.fetch("object", memory.targets(), {1, 0});

  ASSERT_TRUE(whole(worker, "object"));
  EXPECT_EQ(memory.texts, sent);
}

TEST_F(LaneTest, WhatIsWrittenGoesToAFunctionAndItsErrorEndsThatTransferOnly) {
  const std::vector<std::string> sent{pattern(9 * kMiB, 9)};
  Memory memory(sent);
  client->offer("kept", offered(sent));
  client->offer("not kept", offered(sent));
  const auto fails = [](std::uint64_t, std::span<const std::byte>) -> Result<void> {
    return failure(ErrorCode::kOutOfMemory, "there is no memory");
  };
  const auto writes = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
    std::memcpy(memory.texts[0].data() + offset, bytes.data(), bytes.size());
    return {};
  };

  worker.fetch("not kept", {{sent[0].size(), {}, fails, {}}}, {});
  worker.fetch("kept", {{sent[0].size(), {}, writes, {}}}, {});

  const auto failed = next<Failed>(worker);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->of, "not kept");
  EXPECT_EQ(failed->error.text, "there is no memory");
  ASSERT_TRUE(whole(worker, "kept"));
  EXPECT_EQ(memory.texts, sent);
}

TEST_F(LaneTest, WhatHasNothingToComeIsWholeAtOnce) {
  Memory memory({""});
  worker.fetch("object", memory.targets(), {});
  EXPECT_TRUE(whole(worker, "object"));
}

TEST_F(LaneTest, AClientThatEndsIsALossAndItsPiecesAreNotThere) {
  const std::vector<std::string> sent{pattern(5 * kMiB, 10)};
  Memory memory(sent);
  client->offer("object", offered(sent));
  worker.fetch("object", memory.targets(), {});
  ASSERT_TRUE(whole(worker, "object"));
  worker.fetch("another", memory.targets(), {});

  client.reset();

  const auto lost = next<Lost>(worker);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->stood);
  EXPECT_EQ(worker.reached("another"), (Position{0, 0}));
}

TEST_F(LaneTest, WhatIsNotThereEndsTheConnectionOfWhoAsked) {
  Memory memory({pattern(5 * kMiB, 11)});
  client->offer("object", offered(memory.texts));

  worker.fetch("no such object", memory.targets(), {});

  const auto lost = next<Lost>(worker);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->why, "a piece is not there, or of another size");
}

TEST_F(LaneTest, ASizeThatIsNotTheirsIsNotThere) {
  const std::vector<std::string> sent{pattern(4 * kMiB, 12)};
  Memory larger({pattern(4 * kMiB + 1, 12)});
  client->offer("object", offered(sent));

  worker.fetch("object", larger.targets(), {});

  EXPECT_TRUE(next<Lost>(worker));
}

TEST_F(LaneTest, WhatIsNotThereAndNotWantedAnyMoreIsNoLoss) {
  const std::vector<std::string> sent{pattern(4 * kMiB, 17)};
  Memory memory(sent), nothing(sent);
  client->offer("object", offered(sent));
  worker.fetch("withdrawn", nothing.targets(), {});
  worker.stop("withdrawn");

  worker.fetch("object", memory.targets(), {});

  EXPECT_TRUE(whole(worker, "object"));
}

TEST_F(LaneTest, WhatWasWholeAndNotHeardOfIsNotFetchedASecondTimeAndIsForgottenWhenItIsStopped) {
  const std::vector<std::string> sent{pattern(4 * kMiB, 18)};
  Memory memory(sent), again(sent);
  worker.fetch("nothing to come", {}, {});  // is whole at once
  worker.stop("nothing to come");
  client->offer("object", offered(sent));
  worker.fetch("object", memory.targets(), {});
  ASSERT_TRUE(whole(worker, "object")) << "and nothing was told of the other";

  worker.fetch("empty", {}, {});
  worker.fetch("empty", again.targets(), {});

  EXPECT_TRUE(whole(worker, "empty"));
  EXPECT_EQ(worker.reached("empty"), std::nullopt);
}

TEST_F(LaneTest, AKeyThatIsNotTheirsNeverStood) {
  acceptor->forget("one");
  client->offer("object", offered(std::vector<std::string>{pattern(5 * kMiB, 13)}));

  const auto lost = next<Lost>(*client);

  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->stood);
}

TEST_F(LaneTest, WithoutAnybodyAtTheAddressItNeverStood) {
  acceptor = std::move(*Acceptor::bind("tcp://127.0.0.1:*"));
  client->offer("object", offered(std::vector<std::string>{pattern(5 * kMiB, 14)}));

  const auto lost = next<Lost>(*client);

  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->stood);
}

TEST_F(LaneTest, WhatIsStoppedInTheMiddleIsNotTold) {
  const std::vector<std::string> sent{pattern(30 * kMiB, 15)}, small{pattern(4 * kMiB, 16)};
  Memory memory(sent), other(small);
  client->offer("object", offered(sent));
  client->offer("other", offered(small));
  worker.fetch("object", memory.targets(), {});
  worker.stop("object");

  worker.fetch("other", other.targets(), {});

  EXPECT_TRUE(whole(worker, "other"));
  EXPECT_EQ(other.texts, small);
}

TEST_F(LaneTest, KeysTravelAsBytes) {
  const auto keys = acceptor->keys_for("two");

  const auto read = credentials_of(to_bytes(keys));

  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), most_streams());
  EXPECT_EQ(read->front().id, keys.front().id);
  EXPECT_EQ(read->front().key.bytes(), keys.front().key.bytes());
  EXPECT_EQ(credentials_of(""), std::nullopt);
  EXPECT_EQ(credentials_of(std::string(47, 'x')), std::nullopt);
}

// ---- an end that does what it likes -------------------------------------------------------------------------------

struct Liar : LaneTest {
  void SetUp() override {
    LaneTest::SetUp();
    auto keys = acceptor->keys_for("liar");
    liar = std::move(*tls::Channel::connect(acceptor->endpoint(), keys.front(), stream_options()));
  }
  void say(const protocol::Header& header, const std::string& payload) {
    transport::Message message;
    message.push_back(transport::Frame::copy(protocol::encode(header)));
    if (!payload.empty()) message.push_back(transport::Frame::copy(payload));
    const TimePoint deadline = Clock::now() + std::chrono::minutes(1);
    while (liar->send(message) != tls::Sent::kYes && liar->fd() >= 0 && Clock::now() < deadline) turn();
    while (liar->wants_write() && Clock::now() < deadline) turn();
  }
  void turn() {
    while (auto accepted = acceptor->accept()) worker.add(std::move(accepted->second));
    liar->flush();
    if (reads) static_cast<void>(liar->receive());
    pollfd all[] = {{acceptor->fd(), POLLIN, 0}, {liar->fd(), POLLIN, 0}};
    ::poll(all, 2, 1);
  }
  std::unique_ptr<tls::Channel> liar;
  bool reads = true;
};

TEST_F(Liar, APieceThatNobodyAskedForEndsIt) {
  Memory memory({std::string(10, 'x')});
  say(protocol::Chunk{"object", 0, 0}, std::string(10, 'y'));

  const auto lost = next<Lost>(worker);

  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->why, "a piece came that was not asked for");
}

TEST_F(Liar, APieceOfAnotherSizeEndsItAndIsNotThere) {
  Memory memory({std::string(10, 'x')});
  worker.fetch("object", memory.targets(), {});
  say(protocol::Chunk{"object", 0, 0}, std::string(11, 'y'));

  ASSERT_TRUE(next<Lost>(worker));
  EXPECT_EQ(worker.reached("object"), (Position{0, 0}));
}

TEST_F(Liar, AnotherMessageEndsIt) {
  say(protocol::Beat{}, "");

  const auto lost = next<Lost>(worker);

  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->why, "the other end said what does not belong here");
}

TEST_F(Liar, WhoAsksAndAsksAndDoesNotReadIsCut) {
  worker.offer("task", offered(std::vector<std::string>{std::string(4 * kMiB, 'x')}));
  say(protocol::Fetch{"task", 0, 0, 1}, "");
  reads = false;

  for (int i = 0; i < 100; ++i) say(protocol::Fetch{"task", 0, 0, 4 * kMiB}, "");

  EXPECT_TRUE(next<Lost>(worker));
}

TEST_F(Liar, ALargerPieceThanAnyIsNotGiven) {
  worker.offer("task", offered(std::vector<std::string>{std::string(5 * kMiB, 'x')}));
  say(protocol::Fetch{"task", 0, 0, 5 * kMiB}, "");

  EXPECT_TRUE(next<Lost>(worker));
}

}  // namespace
}  // namespace pounce::bulk
