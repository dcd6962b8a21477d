// Bytes from elsewhere go in as they are, within bounds.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "pounced/net/bounded_listener.h"

namespace pounce::daemon {
namespace {

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

struct ProxiedConnectionTest : testing::Test {
  explicit ProxiedConnectionTest(std::size_t allowance = 10)
      : ProxiedConnectionTest(socket_pair(), socket_pair(), allowance) {}
  ProxiedConnectionTest(std::pair<UniqueFd, UniqueFd> outside, std::pair<UniqueFd, UniqueFd> inside,
                        std::size_t allowance)
      : stranger(std::move(outside.first)),
        server(std::move(inside.first)),
        connection(std::move(outside.second), std::move(inside.second), allowance) {}

  static void say(const UniqueFd& end, const std::string& text) {
    ASSERT_EQ(::send(end.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  static std::string heard(const UniqueFd& end) {
    std::string all, piece(4096, '\0');
    for (ssize_t size; (size = ::recv(end.get(), piece.data(), piece.size(), 0)) > 0;)
      all.append(piece, 0, static_cast<std::size_t>(size));
    return all;
  }

  UniqueFd stranger, server;
  ProxiedConnection connection;
};

TEST_F(ProxiedConnectionTest, HandsOnWhatBothSidesSay) {
  say(stranger, "hello");
  say(server, "welcome");
  EXPECT_TRUE(connection.pump());
  EXPECT_EQ(heard(server), "hello");
  EXPECT_EQ(heard(stranger), "welcome");
}

// libzmq keeps all parts of an unfinished message: 300 MiB of them were pounced's.
TEST_F(ProxiedConnectionTest, TakesOfANewcomerItsAllowanceAndNoMoreUntilItIsSettled) {
  say(stranger, "hello and more");
  EXPECT_TRUE(connection.pump());
  EXPECT_EQ(heard(server), "hello and ");
  EXPECT_TRUE(connection.pump());
  EXPECT_EQ(heard(server), "");
  connection.settle();
  EXPECT_TRUE(connection.pump());
  EXPECT_EQ(heard(server), "more");
}

TEST_F(ProxiedConnectionTest, LosesNothingWhenTheOtherSideTakesItSlowly) {
  connection.settle();
  const std::string much(3 << 20, 'x');
  std::string sent = much, arrived;
  for (int turns = 0; arrived.size() < much.size() && turns < 10'000; ++turns) {
    const ssize_t size = ::send(stranger.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
    if (size > 0) sent.erase(0, static_cast<std::size_t>(size));
    ASSERT_TRUE(connection.pump());
    ASSERT_TRUE(connection.pump());  // again, while the other side is full
    arrived += heard(server);
  }
  EXPECT_EQ(arrived, much);
}

TEST_F(ProxiedConnectionTest, EndsWithEitherSideAfterItsLastWords) {
  say(server, "refused");
  server.reset();
  EXPECT_FALSE(connection.pump());
  EXPECT_EQ(heard(stranger), "refused");
}

TEST_F(ProxiedConnectionTest, EndsWhenTheStrangerGoes) {
  stranger.reset();
  EXPECT_FALSE(connection.pump());
}

}  // namespace
}  // namespace pounce::daemon
