// What travels between two ends that have the same key: every size, both ways, slowly, and cut in the middle.
#include "tls/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "unit/tls/two_ends.h"

namespace pounce::tls {
namespace {

using ChannelTest = TwoEnds;
using Got = std::vector<std::vector<std::string>>;
using std::chrono::hours;
using std::chrono::seconds;

struct ChannelSizeTest : TwoEnds, testing::WithParamInterface<std::size_t> {};

TEST_P(ChannelSizeTest, CarriesAFrameOfThatSizeBothWays) {
  open();
  const std::vector<std::string> there{"header", pattern(GetParam(), 1)}, back{pattern(GetParam(), 2), ""};
  Message message = message_of(there), answer = message_of(back);

  ASSERT_EQ(client->send(message), Sent::kYes);
  ASSERT_EQ(server->send(answer), Sent::kYes);

  ASSERT_TRUE(turn_until([&] { return !client_got.empty() && !server_got.empty(); }));
  EXPECT_EQ(server_got, Got{there});
  EXPECT_EQ(client_got, Got{back});
}

// Around a record (16 KiB), around what goes to the socket at once (256 KiB), and what a chunk and its neighbours have.
INSTANTIATE_TEST_SUITE_P(Each, ChannelSizeTest,
                         testing::Values(0, 1, 2, 16383, 16384, 16385, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1,
                                         kMiB - 1, kMiB, kMiB + 1, 9 * kMiB));

TEST_F(ChannelTest, CarriesAsManyFramesAsAMessageMayHave) {
  open();
  std::vector<std::string> frames;
  for (std::uint32_t i = 0; i < options.max_frames; ++i) frames.push_back(pattern(i % 37 == 0 ? 0 : i, i));
  Message message = message_of(frames);

  ASSERT_EQ(client->send(message), Sent::kYes);

  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));
  EXPECT_EQ(server_got, Got{frames});
}

TEST_F(ChannelTest, KeepsMessagesInOrder) {
  open();
  std::vector<std::vector<std::string>> sent;

  for (std::uint32_t i = 0; i < 500; ++i) {
    sent.push_back({std::to_string(i), pattern((i * 7919) % 60000, i)});
    Message message = message_of(sent.back());
    ASSERT_TRUE(send_until([&] { return client->send(message) == Sent::kYes; }));
  }

  ASSERT_TRUE(turn_until([&] { return server_got.size() == sent.size(); }));
  EXPECT_EQ(server_got, sent);
}

TEST_F(ChannelTest, PutsFramesWhereTheReceiverSaysWithoutACopy) {
  open();
  const auto place = std::make_shared<std::string>(3 * kMiB, '-');
  std::vector<std::string> asked;
  server->place_with([&](std::string_view header, std::size_t frame, std::size_t size) {
    asked.push_back(std::string(header) + " " + std::to_string(frame) + " " + std::to_string(size));
    return frame == 2 ? Destination{}
                      : Destination{std::as_writable_bytes(std::span(*place)).subspan(kMiB, size), place};
  });
  Message got;
  server_takes = [&](Message message) { got = std::move(message); };
  const std::string placed = pattern(kMiB, 1);
  Message message = message_of({"at 1 MiB", placed, "its own"});

  ASSERT_EQ(client->send(message), Sent::kYes);

  ASSERT_TRUE(turn_until([&] { return !got.empty(); }));
  EXPECT_EQ(static_cast<const void*>(got[1].bytes().data()), place->data() + kMiB);
  EXPECT_EQ(*place, std::string(kMiB, '-') + placed + std::string(kMiB, '-'));
  EXPECT_EQ(got[2].text(), "its own");
  EXPECT_EQ(asked, (std::vector<std::string>{"at 1 MiB 1 1048576", "at 1 MiB 2 7"}));
}

TEST_F(ChannelTest, KeepsAPlaceUntilItsFrameIsGoneOrTheMessageIsCut) {
  open();
  auto place = std::make_shared<std::string>(kMiB, '-');
  const std::weak_ptr<std::string> seen = place;
  server->place_with([&](std::string_view, std::size_t frame, std::size_t) {
    return frame == 1 ? Destination{std::as_writable_bytes(std::span(*place)), std::move(place)} : Destination{};
  });
  Message message = message_of({"header", std::string(kMiB, 'x'), std::string(64 * kMiB, 'y')});

  ASSERT_EQ(client->send(message), Sent::kYes);
  ASSERT_TRUE(turn_until([&] { return place == nullptr; }));
  EXPECT_FALSE(seen.expired());
  server.reset();

  EXPECT_TRUE(seen.expired());
}

TEST_F(ChannelTest, LetsGoOfWhatIsBorrowedAsSoonAsItIsEncrypted) {
  open();
  const std::string bytes = pattern(kMiB, 1);
  int released = 0;
  Message message;
  message.push_back(Frame::copy("header"));
  message.push_back(Frame::borrow(std::as_bytes(std::span(bytes)), [&] { ++released; }));

  ASSERT_EQ(client->send(message), Sent::kYes);

  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(message.empty());
}

TEST_F(ChannelTest, CarriesMoreThanFourGigabytesOverFrames) {
  if (std::getenv("POUNCE_LONG_RUN") == nullptr) GTEST_SKIP() << "15 s for 4 GiB: POUNCE_LONG_RUN=1 (tests/run --long)";
  open();
  const std::string chunk = pattern(32 * kMiB, 3), last = pattern(1, 4);
  const auto into = std::make_shared<std::string>(chunk.size(), '\0');
  server->place_with([&](std::string_view, std::size_t, std::size_t size) {
    return Destination{std::as_writable_bytes(std::span(*into)).first(size), into};
  });
  std::uint64_t sent = 0, came = 0;
  bool right = true;
  const std::uint64_t all = (std::uint64_t{1} << 32) + 1;

  server_takes = [&](const Message& message) {
    came += message.back().size();
    const std::string_view expected = came == all ? last : chunk, text = message.back().text();
    right = right && text.front() == expected.front() && text.back() == expected.back();
  };

  const bool whole = send_until([&] {
    while (sent < all) {
      const std::string& next = sent + 1 == all ? last : chunk;
      Message message;
      message.push_back(Frame::copy("header"));
      message.push_back(Frame::borrow(std::as_bytes(std::span(next)), [] {}));
      if (client->send(message) != Sent::kYes) break;
      sent += next.size();
    }
    return came == all;
  });

  EXPECT_TRUE(whole);
  EXPECT_TRUE(right);
  EXPECT_GT(server->received_bytes(), all);
}

TEST_F(ChannelTest, GoesOnAfterItsKeyWasChangedManyTimes) {
  options.rekey_bytes = 100'000;
  open();
  const std::vector<std::string> frames{"header", pattern(5 * kMiB, 1)};

  for (int i = 0; i < 3; ++i) {
    Message there = message_of(frames), back = message_of(frames);
    ASSERT_TRUE(send_until([&] { return client->send(there) == Sent::kYes; }));
    ASSERT_TRUE(send_until([&] { return server->send(back) == Sent::kYes; }));
  }

  ASSERT_TRUE(turn_until([&] { return client_got.size() == 3 && server_got.size() == 3; }));
  EXPECT_EQ(client_got.back(), frames);
  EXPECT_EQ(server_got.back(), frames);
}

// ---- slow, cut, stalled -------------------------------------------------------------------------------------------

TEST_F(ChannelTest, SaysFullToWhoSendsFasterThanTheOtherReadsAndGoesOnLater) {
  open();
  const std::vector<std::string> frames{"header", pattern(kMiB, 1)};
  std::size_t taken = 0;
  for (Message message = message_of(frames); taken < 1000 && client->send(message) == Sent::kYes;
       message = message_of(frames))
    ++taken;
  ASSERT_GE(taken, 4u);
  ASSERT_LT(taken, 100u);  // what the sockets hold and the high-water mark: not all that one could want

  ASSERT_TRUE(turn_until([&] { return server_got.size() == taken; }));

  Message message = message_of(frames);
  EXPECT_EQ(client->send(message), Sent::kYes);
  EXPECT_EQ(server_got.back(), frames);
}

TEST_F(ChannelTest, CarriesMuchBothWaysAtOnce) {
  open();
  const std::vector<std::string> frames{"header", pattern(kMiB, 1)};
  std::size_t there = 0, back = 0;

  EXPECT_TRUE(send_until([&] {
    for (Message message = message_of(frames); there < 100 && client->send(message) == Sent::kYes;
         message = message_of(frames))
      ++there;
    for (Message message = message_of(frames); back < 100 && server->send(message) == Sent::kYes;
         message = message_of(frames))
      ++back;
    return client_got.size() == 100 && server_got.size() == 100;
  }));

  for (const auto& got : {client_got, server_got})
    for (const auto& one : got) ASSERT_EQ(one, frames);
}

TEST_F(ChannelTest, NeverDoesMoreInOneCallThanATurn) {
  options.turn_bytes = kMiB, options.high_water_bytes = 64 * kMiB;
  open();
  Message message = message_of({std::string(32 * kMiB, 'x')});

  ASSERT_EQ(client->send(message), Sent::kYes);
  EXPECT_LE(client->sent_bytes(), 2 * kMiB);
  EXPECT_TRUE(client->wants_write());
  for (bool whole = false; !whole;) {
    client->flush();
    const auto before = server->received_bytes();
    whole = server->receive().has_value();
    EXPECT_LE(server->received_bytes() - before, 2 * kMiB);
  }
}

TEST_F(ChannelTest, ACutInTheMiddleOfAMessageIsALossAndNothingOfItIsSeen) {
  open();
  Message whole = message_of({"whole"}), half = message_of({"header", std::string(32 * kMiB, 'x')});
  ASSERT_EQ(client->send(whole), Sent::kYes);
  ASSERT_EQ(client->send(half), Sent::kYes);
  client.reset();

  ASSERT_TRUE(turn_until([&] { return !server_news.empty(); }));

  EXPECT_EQ(server_news, std::vector{Link::kDisconnected});
  EXPECT_EQ(server_got, (Got{{"whole"}}));
  EXPECT_EQ(server->fd(), -1);
  Message more = message_of({"more"});
  EXPECT_EQ(server->send(more), Sent::kFull);
  EXPECT_EQ(more.size(), 1u);
}

TEST_F(ChannelTest, AByteChangedOnTheWayIsALossAndIsNotDelivered) {
  open();
  Message message = message_of({"header", pattern(kMiB, 1)});
  ASSERT_EQ(client->send(message), Sent::kYes);
  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));
  const char garbage[64] = {0x17, 0x03, 0x03, 0x00, 0x3b};

  ASSERT_EQ(::send(client->fd(), garbage, sizeof garbage, 0),
            static_cast<ssize_t>(sizeof garbage));  // a record that nobody sealed

  ASSERT_TRUE(turn_until([&] { return !server_news.empty(); }));
  EXPECT_EQ(server_news, std::vector{Link::kDisconnected});
  EXPECT_EQ(server_got.size(), 1u);
}

TEST_F(ChannelTest, AMessageOverABoundIsALossBeforeMemoryIsTaken) {
  options.max_frame_bytes = 1000;
  open();
  Message message = message_of({"header", std::string(1001, 'x')});

  ASSERT_EQ(client->send(message), Sent::kYes);

  ASSERT_TRUE(turn_until([&] { return !server_news.empty(); }));
  EXPECT_EQ(server_news, std::vector{Link::kDisconnected});
  EXPECT_EQ(server->why(), "a frame of 1001 bytes was announced");
}

TEST_F(ChannelTest, AMessageThatStallsIsALossAfterItsTime) {
  open();
  Message half = message_of({std::string(40 * kMiB, 'x')});
  ASSERT_EQ(client->send(half), Sent::kYes);
  while (server->receive() || server->ready()) {
  }
  ASSERT_LT(server->next_deadline(), Clock::now() + options.stall + seconds(1));

  server->check(Clock::now() + options.stall - seconds(1));
  EXPECT_EQ(server->link_event(), std::nullopt);
  server->check(Clock::now() + options.stall + seconds(1));

  EXPECT_EQ(server->link_event(), Link::kDisconnected);
  EXPECT_EQ(server->why(), "the other end has stopped");
}

TEST_F(ChannelTest, AReaderThatStopsIsALossToWhoSends) {
  open();
  for (Message message = message_of({std::string(kMiB, 'x')}); client->send(message) == Sent::kYes;
       message = message_of({std::string(kMiB, 'x')})) {
  }
  for (int fd = client->fd(); client->wants_write();) {
    pollfd one{fd, POLLOUT, 0};
    if (::poll(&one, 1, 0) == 0) break;
    client->flush();
  }

  client->check(Clock::now() + options.stall + seconds(1));

  EXPECT_EQ(client->link_event(), Link::kDisconnected);
}

TEST_F(ChannelTest, AClockThatJumpsLosesNothing) {
  open();
  const std::vector<std::string> frames{"header", pattern(40 * kMiB, 1)};
  Message message = message_of(frames);
  ASSERT_EQ(client->send(message), Sent::kYes);
  while (server->receive() || server->ready()) {
  }  // in its middle
  client->flush();  // the kernel has more of it

  server->check(Clock::now() + hours(1));
  client->check(Clock::now() - hours(1));

  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));
  EXPECT_EQ(server_got, Got{frames});
  EXPECT_TRUE(server_news.empty());
}

TEST_F(ChannelTest, AnIdleConnectionIsNeverStalled) {
  open();
  Message message = message_of({"one"});
  ASSERT_EQ(client->send(message), Sent::kYes);
  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));

  client->check(Clock::now() + hours(1000));
  server->check(Clock::now() + hours(1000));

  EXPECT_EQ(client->next_deadline(), TimePoint::max());
  EXPECT_EQ(client->link_event(), std::nullopt);
  EXPECT_EQ(server->link_event(), std::nullopt);
}

TEST_F(ChannelTest, NobodyAtTheAddressIsALossNotARefusal) {
  listen();
  const std::string endpoint = listener->endpoint();
  listener.reset();
  client = std::move(*Channel::connect(endpoint, credential, options));

  ASSERT_TRUE(turn_until([&] { return !client_news.empty(); }));

  EXPECT_EQ(client_news, std::vector{Link::kDisconnected});
  EXPECT_EQ(client->why(), "Connection refused");
}

TEST_F(ChannelTest, AServerThatSaysNothingIsALossInTime) {
  listen();  // and never asked to accept
  client = connect(credential);
  ASSERT_EQ(client->link_event(), std::nullopt);

  client->check(Clock::now() + options.handshake + seconds(1));

  EXPECT_EQ(client->link_event(), Link::kDisconnected);
}

TEST_F(ChannelTest, AnAddressThatIsNoneIsRefusedAtOnce) {
  for (const char* endpoint : {"", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:*", "tcp://127.0.0.1:0",
                               "tcp://127.0.0.1:70000", "tcp://localhost:1", "ipc:///tmp/x"})
    EXPECT_FALSE(Channel::connect(endpoint, credential, options)) << endpoint;
}

}  // namespace
}  // namespace pounce::tls
