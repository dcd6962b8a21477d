// The listener on a real port, in front of a socket of the test's.
#include "pounced/net/bounded_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "scratch_folder.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;

constexpr int kPatience_ms = 10'000;

bool readable(const UniqueFd& fd, int patience_ms) {
  pollfd one{fd.get(), POLLIN, 0};
  return ::poll(&one, 1, patience_ms) == 1;
}

// So many bytes, or those that came before the end or within our patience.
std::size_t taken(const UniqueFd& fd, std::size_t bytes) {
  std::size_t all = 0;
  char piece[4096];
  while (all < bytes && readable(fd, kPatience_ms)) {
    const ssize_t size = ::recv(fd.get(), piece, sizeof piece, 0);
    if (size <= 0) break;
    all += static_cast<std::size_t>(size);
  }
  return all;
}

UniqueFd connect_to(const std::string& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str())));
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

struct BoundedListenerTest : testing::Test {
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    inside.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(inside.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(inside.get(), 16), 0);
  }

  void open(const ListenerBounds& bounds) {
    auto socket = listen_at("127.0.0.1", std::nullopt, 256);
    ASSERT_TRUE(socket) << socket.error().text;
    auto opened = BoundedListener::open("test", std::move(*socket), path, bounds);
    ASSERT_TRUE(opened) << opened.error().text;
    listener = std::move(*opened);
  }
  UniqueFd arrival() {
    if (!readable(inside, kPatience_ms)) return {};
    return UniqueFd(::accept4(inside.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  bool becomes_full(bool full) const {
    for (const TimePoint end = Clock::now() + 10s; Clock::now() < end; std::this_thread::yield())
      if (listener->row().full == full) return true;
    return false;
  }

  ScratchFolder folder;
  const std::string path = folder.file("inside");
  UniqueFd inside;
  std::unique_ptr<BoundedListener> listener;
};

TEST_F(BoundedListenerTest, LeadsWhoComesToTheSocketBehindIt) {
  open({4, 4, 1h, true});
  const UniqueFd peer = connect_to(listener->endpoint());
  const UniqueFd server = arrival();
  ASSERT_TRUE(server);
  ASSERT_EQ(::send(peer.get(), "hello", 5, 0), 5);
  char text[6] = "";
  ASSERT_TRUE(readable(server, kPatience_ms));
  EXPECT_EQ(::recv(server.get(), text, 5, 0), 5);
  EXPECT_STREQ(text, "hello");
}

// Every connection there was a descriptor for was taken; libzmq aborted when none was left.
TEST_F(BoundedListenerTest, LetsWhoFindsNoRoomWaitUntilOneGoes) {
  open({2, 2, 1h, true});
  UniqueFd first = connect_to(listener->endpoint());
  const UniqueFd second = connect_to(listener->endpoint()), third = connect_to(listener->endpoint());
  const UniqueFd server_of_first = arrival(), server_of_second = arrival();
  ASSERT_TRUE(becomes_full(true));
  EXPECT_FALSE(readable(inside, 0));
  EXPECT_EQ(listener->row().connections, 2u);

  first.reset();

  EXPECT_TRUE(arrival()) << "the third";
  EXPECT_GE(listener->row().times_full, 1u);
}

TEST_F(BoundedListenerTest, CutsWhoHasHadTheTimeOfANewcomerWhereNobodyStays) {
  open({2, 2, 20ms, false});
  const UniqueFd peer = connect_to(listener->endpoint());
  ASSERT_TRUE(readable(peer, kPatience_ms));
  char byte;
  EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), 0);
}

TEST_F(BoundedListenerTest, HandsOnAllThatTheOtherSideTakesSlowly) {
  constexpr std::size_t kBytes = 4 << 20;
  open({2, 2, 0ms, true});
  const UniqueFd peer = connect_to(listener->endpoint());
  const UniqueFd server = arrival();
  const std::jthread speaks([&] {
    EXPECT_EQ(::send(server.get(), std::string(kBytes, 'x').data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  });
  EXPECT_EQ(taken(peer, kBytes), kBytes);
}

TEST_F(BoundedListenerTest, CountsASettledConnectionNoMoreAmongTheNewcomers) {
  open({2, 1, 20ms, true});
  const UniqueFd first = connect_to(listener->endpoint()), second = connect_to(listener->endpoint());
  const UniqueFd server_of_first = arrival(), server_of_second = arrival();
  EXPECT_TRUE(server_of_second);
  EXPECT_FALSE(readable(first, 0)) << "it stays";
}

}  // namespace
}  // namespace pounce::daemon
