// The channel between processes of one user on one machine: messages, memory, broken framing, slow readers, strangers.
#include "transport/local_channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "identity/proof.h"
#include "memory/memory_block.h"

namespace pounce::transport {
namespace {

constexpr std::size_t kMost = 64 * 1024 * 1024;

std::vector<std::string> texts(const Message& message) {
  std::vector<std::string> all;
  for (const Frame& frame : message) all.emplace_back(frame.text());
  return all;
}

Message message_of(const std::vector<std::string>& texts) {
  Message message;
  for (const std::string& text : texts) message.push_back(Frame::copy(text));
  return message;
}

class LocalChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    server = LocalServer::listen(key, kMost);
    ASSERT_NE(server, nullptr);
    client = LocalChannel::connect(key, kMost);
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->link_event(), Link::kConnected);
    accept();
  }
  void accept() {
    PollSet polled;
    server->add_to(polled);
    polled.wait(Clock::now());
    server->accept_waiting(polled);
  }
  void say(const std::vector<std::string>& texts) {
    Message message = message_of(texts);
    ASSERT_EQ(client->send(message), Sent::kYes);
    client->flush();
  }
  // Both sides go on until one message has come, however slowly; what it is bound by is the test's time limit.
  Received heard() {
    while (true) {
      client->flush();
      if (auto received = server->receive()) return std::move(*received);
    }
  }
  Message answer() {
    while (true) {
      server->flush();
      if (auto message = client->receive()) return std::move(*message);
    }
  }
  // A connection that speaks the framing by hand.
  UniqueFd raw() {
    const LocalAddress to = local_address(key);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size), 0);
    return fd;
  }
  bool closed_by_server(const UniqueFd& fd) {
    accept();
    for (int turn = 0; turn < 2; ++turn) EXPECT_FALSE(server->receive().has_value());
    char byte;
    return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  PublicKey key = identity::make_key_pair().public_key;
  std::unique_ptr<LocalServer> server;
  std::unique_ptr<LocalChannel> client;
};

template <class... Numbers>
std::string packed(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

TEST_F(LocalChannelTest, CarriesMessagesOfAllSizesInOrderBothWays) {
  const std::vector<std::vector<std::string>> messages = {
      {"a"},
      {"", ""},
      {"header", std::string(16 * 1024, 'x')},
      {"header", std::string(1024 * 1024, 'y'), "z"},
      std::vector<std::string>(1024, "f"),
      {std::string(70 * 1024, 'h'), std::string(5 * 1024 * 1024 + 1, 'i')},
      {"last"}};
  for (const auto& message : messages) {
    say(message);
    Received received = heard();
    EXPECT_EQ(texts(received.frames), message);
    EXPECT_TRUE(received.local);
    ASSERT_EQ(server->send(received.route, received.frames), Sent::kYes);
    EXPECT_EQ(texts(answer()), message);
  }
}

TEST_F(LocalChannelTest, GathersSmallMessagesUntilItIsFlushed) {
  for (const char* text : {"one", "two", "three"}) {
    Message message = message_of({text});
    ASSERT_EQ(client->send(message), Sent::kYes);
  }
  EXPECT_FALSE(server->receive().has_value());
  EXPECT_TRUE(client->unsent());
  client->flush();
  for (const char* text : {"one", "two", "three"}) EXPECT_EQ(texts(heard().frames), std::vector<std::string>{text});
}

TEST_F(LocalChannelTest, ASlowReaderMakesItFullAndNothingIsLost) {
  int sent = 0;
  for (bool full = false; !full; sent += full ? 0 : 1) {
    Message message = message_of({std::to_string(sent), std::string(300 * 1024, 's')});
    full = client->send(message) == Sent::kFull;
    ASSERT_LT(sent, 100);
    EXPECT_EQ(message.size(), full ? 2u : 0u) << "what was not taken is still the sender's";
  }
  EXPECT_FALSE(client->ready(true));
  for (int i = 0; i < sent; ++i) EXPECT_EQ(heard().frames.front().text(), std::to_string(i));
  EXPECT_TRUE(client->ready(true));
}

TEST_F(LocalChannelTest, PassesMemoryAsItIs) {
  std::shared_ptr<memory::MemoryBlock> block = *memory::MemoryBlock::make(1024 * 1024);
  const std::string text = "in memory";
  ASSERT_TRUE(block->write(5, std::as_bytes(std::span(text))).has_value());
  Message message = message_of({"header"});
  message.push_back(Frame::share(block));
  message.push_back(Frame::copy("behind it"));
  ASSERT_EQ(client->send(message), Sent::kYes);
  const Received received = heard();
  ASSERT_EQ(received.frames.size(), 3u);
  ASSERT_NE(received.frames[1].block(), nullptr);
  EXPECT_EQ(received.frames[2].text(), "behind it");
  const auto view = *memory::View::map(received.frames[1].block(), 1024 * 1024, memory::Sharing::kPrivate);
  EXPECT_EQ(std::memcmp(view->bytes().data() + 5, text.data(), text.size()), 0);
  EXPECT_FALSE(block->ours_alone()) << "another process may read it";
}

TEST_F(LocalChannelTest, TellsOfItsEndOnceBehindWhatHadCome) {
  say({"goodbye"});
  const std::string route = heard().route;
  Message last = message_of({"last"});
  ASSERT_EQ(server->send(route, last), Sent::kYes);
  server->flush();
  server->cut(route);
  EXPECT_EQ(client->receive()->front().text(), "last");
  EXPECT_FALSE(client->receive().has_value());
  EXPECT_FALSE(client->ready(false)) << "polled again, it has only the end";
  EXPECT_EQ(client->link_event(), Link::kDisconnected);
  EXPECT_FALSE(client->link_event().has_value());
  server->receive();
  Message late = message_of({"late"});
  EXPECT_EQ(server->send(route, late), Sent::kNoSuchPeer);
}

// A worker that dies with its outcomes in our kernel's buffer: a beat that cannot be sent any more must not lose them.
TEST_F(LocalChannelTest, WhatHadComeIsReadThoughNothingCanBeSentAnyMore) {
  say({"hello"});
  const std::string route = heard().route;
  for (int i = 0; i < 20; ++i) {
    Message one = message_of({std::to_string(i)});
    ASSERT_EQ(server->send(route, one), Sent::kYes);
  }
  server->flush();
  server.reset();
  say({"a beat"});
  Message refused = message_of({"another"});
  EXPECT_EQ(client->send(refused), Sent::kFull);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client->receive()->front().text(), std::to_string(i));
  while (!client->receive() && !client->link_event()) {
  }
  EXPECT_FALSE(client->unsent());
}

// Else whoever asks before it sleeps never sleeps: one core busy for as long as a worker is stopped.
TEST_F(LocalChannelTest, HasNoRoomAsLongAsItTakesNothing) {
  Message fill = message_of({std::string(300 * 1024, 'f')});
  while (client->send(fill) == Sent::kYes) fill = message_of({std::string(300 * 1024, 'f')});
  EXPECT_FALSE(client->ready(true));
  heard();
  while (!client->ready(true)) heard();
  Message small = message_of({"small"});
  EXPECT_EQ(client->send(small), Sent::kYes);
}

TEST_F(LocalChannelTest, WhatBreaksTheFramingIsCut) {
  const auto memory = std::uint64_t{1} << 63;
  const std::string broken[] = {packed(std::uint32_t{0}), packed(std::uint32_t{1025}),
                                packed(std::uint32_t{1}, std::uint64_t{kMost + 1}),
                                packed(std::uint32_t{1}, memory | 4096)};  // memory without a descriptor
  for (const std::string& bytes : broken) {
    const UniqueFd fd = raw();
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(closed_by_server(fd));
  }
}

TEST_F(LocalChannelTest, ADescriptorThatIsNoFixedMemoryIsRefused) {
  const UniqueFd fd = raw();
  std::string bytes = packed(std::uint32_t{1}, (std::uint64_t{1} << 63) | 4096);
  iovec piece{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  *part = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  const int standard_output = STDOUT_FILENO;
  std::memcpy(CMSG_DATA(part), &standard_output, sizeof(int));
  ASSERT_GT(::sendmsg(fd.get(), &message, 0), 0);
  EXPECT_TRUE(closed_by_server(fd));
}

TEST_F(LocalChannelTest, HalfAMessageKeepsNobodyElseWaiting) {
  const UniqueFd fd = raw();
  const std::string half = packed(std::uint32_t{1}, std::uint64_t{100}) + "half";
  ASSERT_GT(::send(fd.get(), half.data(), half.size(), 0), 0);
  accept();
  say({"whole"});
  EXPECT_EQ(texts(heard().frames), std::vector<std::string>{"whole"});
}

TEST_F(LocalChannelTest, NobodyIsThereUnderAnotherKey) {
  EXPECT_EQ(LocalChannel::connect(identity::make_key_pair().public_key, kMost), nullptr);
}

// What the kernel says of the two ends, both ways; runs as root only, who can become somebody else.
TEST_F(LocalChannelTest, AnotherUserIsClosedWithoutAByteAndNotConnectedTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::seteuid(65534), 0);
  const UniqueFd strangers = raw();
  const auto to_strangers = LocalChannel::connect(key, kMost);
  ASSERT_EQ(::seteuid(0), 0);
  accept();
  char byte;
  EXPECT_EQ(to_strangers, nullptr) << "a worker of somebody else is none of ours";
  EXPECT_LE(::recv(strangers.get(), &byte, 1, MSG_DONTWAIT), 0);
}

}  // namespace
}  // namespace pounce::transport
