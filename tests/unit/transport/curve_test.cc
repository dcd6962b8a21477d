// A CURVE server and its clients: who gets in, and what each side is told.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <set>
#include <thread>

#include "base/unique_fd.h"
#include "identity/proof.h"
#include "transport/dealer_socket.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::transport {
namespace {

using std::chrono::seconds;

struct CurveTest : testing::Test {
  KeyPair server_keys = identity::make_key_pair(), client_keys = identity::make_key_pair();
  Context context;
  std::unique_ptr<RouterSocket> server;
  std::unique_ptr<DealerSocket> client;

  void open(const PublicKey& admitted, const PublicKey& expected_server, bool tells_losses = false,
            std::size_t most_newcomers = 0) {
    context.admit("control", [admitted](const ZapQuestion& question) { return question.key == admitted; });
    ServerOptions options;
    options.zap_domain = "control";
    options.max_frame_bytes = 1024;
    options.tells_losses = tells_losses;
    options.most_newcomers = most_newcomers;
    auto bound = RouterSocket::bind(context, server_keys, options, {"tcp://127.0.0.1:*"});
    ASSERT_TRUE(bound) << bound.error().text;
    server = std::move(*bound);
    ASSERT_TRUE(connect(expected_server));
  }

  bool connect(const PublicKey& expected_server) {
    ClientOptions client_options;
    client_options.max_frame_bytes = 1024;
    auto connected =
        DealerSocket::connect(context, client_keys, expected_server, client_options, server->endpoints().front());
    if (connected) client = std::move(*connected);
    return connected.has_value();
  }

  // Turns until `done` or ten seconds.
  template <class Done>
  bool turn_until(const Done& done) {
    const TimePoint deadline = Clock::now() + seconds(10);
    PollSet poll;
    while (!done()) {
      if (Clock::now() > deadline) return false;
      poll.clear();
      for (void* handle : {context.zap_handle(), server->handle()}) poll.add_socket(handle);
      if (client)
        for (void* handle : {client->handle(), client->monitor_handle()}) poll.add_socket(handle);
      poll.wait(std::min(deadline, Clock::now() + std::chrono::milliseconds(20)));
      context.service_zap();
    }
    return true;
  }

  bool send(std::string_view text) {
    return turn_until([&] {
      Message message;
      message.push_back(Frame::copy(text));
      return client->send(message) == Sent::kYes;
    });
  }
};

TEST_F(CurveTest, ListensAtAFreePortOfARange) {
  context.admit("control", [](const ZapQuestion&) { return false; });
  ServerOptions options;
  options.zap_domain = "control";
  options.max_frame_bytes = 1024;
  const auto first = RouterSocket::bind(context, server_keys, options, {"tcp://127.0.0.1:*"});
  ASSERT_TRUE(first) << first.error().text;
  const std::string taken = (*first)->endpoints().front();
  const int port = std::stoi(taken.substr(taken.rfind(':') + 1));
  const std::string range = "tcp://127.0.0.1:" + std::to_string(port) + "-" + std::to_string(port + 20);
  const auto second = RouterSocket::bind(context, server_keys, options, {range});
  ASSERT_TRUE(second) << second.error().text;
  const std::string found = (*second)->endpoints().front();
  const int other = std::stoi(found.substr(found.rfind(':') + 1));
  EXPECT_GT(other, port);
  EXPECT_LE(other, port + 20);
  const std::string full = "tcp://127.0.0.1:" + std::to_string(port) + "-" + std::to_string(port);
  EXPECT_FALSE(RouterSocket::bind(context, server_keys, options, {full}));
}

TEST_F(CurveTest, TellsTheServerTheKeyOfTheConnectionAMessageCameInOn) {
  open(client_keys.public_key, server_keys.public_key);
  ASSERT_TRUE(send("hello"));
  std::optional<Received> received;
  ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));

  EXPECT_EQ(received->peer, client_keys.public_key);
  ASSERT_EQ(received->frames.size(), 1u);
  EXPECT_EQ(received->frames.front().text(), "hello");

  Message answer;
  answer.push_back(Frame::copy("welcome"));
  EXPECT_EQ(server->send(received->route, answer), Sent::kYes);
  std::optional<Message> back;
  ASSERT_TRUE(turn_until([&] { return (back = client->receive()).has_value(); }));
  EXPECT_EQ(back->front().text(), "welcome");
}

TEST_F(CurveTest, TellsTheServerWhichConnectionIsGone) {
  open(client_keys.public_key, server_keys.public_key, true);
  ASSERT_TRUE(send("hello"));
  std::optional<Received> received;
  ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));
  EXPECT_EQ(server->lost_route(), std::nullopt);

  client.reset();

  std::optional<std::string> lost;
  ASSERT_TRUE(turn_until([&] { return (lost = server->lost_route()).has_value(); }));
  EXPECT_EQ(*lost, received->route);
  EXPECT_EQ(server->lost_route(), std::nullopt);
}

// Its descriptor is used again at once: neither connection may be taken for the other.
TEST_F(CurveTest, ANewConnectionIsNotTakenForTheOneThatIsGone) {
  open(client_keys.public_key, server_keys.public_key, true);
  std::set<std::string> routes, lost;
  constexpr std::size_t kConnections = 20;
  for (std::size_t n = 0; n < kConnections; ++n) {
    ASSERT_TRUE(connect(server_keys.public_key));
    ASSERT_TRUE(send("hello"));
    std::optional<Received> received;
    ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));
    EXPECT_TRUE(routes.insert(received->route).second);
    while (const auto gone = server->lost_route()) EXPECT_TRUE(lost.insert(*gone).second);
    EXPECT_FALSE(lost.contains(received->route));
  }
  client.reset();
  ASSERT_TRUE(turn_until([&] {
    while (const auto gone = server->lost_route()) lost.insert(*gone);
    return lost.size() == kConnections;
  }));
  EXPECT_EQ(lost, routes);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// One that says nothing. libzmq's own end of it is in this process too.
UniqueFd silent_connection(const std::string& endpoint) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

TEST_F(CurveTest, CutsTheOldestOfManyThatSayNothingAndNobodyWhoSpoke) {
  constexpr std::size_t kMost = 4, kStrangers = 50;
  open(client_keys.public_key, server_keys.public_key, false, kMost);
  ASSERT_TRUE(send("hello"));
  ASSERT_TRUE(turn_until([&] { return server->receive().has_value(); }));
  const std::size_t before = open_descriptors();

  std::vector<UniqueFd> strangers;
  while (strangers.size() < kStrangers) strangers.push_back(silent_connection(server->endpoints().front()));
  const bool cut = turn_until([&] {
    server->cut_newcomers();
    return open_descriptors() <= before + kStrangers + kMost;
  });

  EXPECT_TRUE(cut) << open_descriptors() - before << " more descriptors, " << kStrangers
                   << " of them the strangers' own";
  ASSERT_TRUE(send("still here"));
  EXPECT_TRUE(turn_until([&] { return server->receive().has_value(); }));
}

TEST_F(CurveTest, CutsTheConnectionOfARouteAndItsClientComesBackOnAnother) {
  open(client_keys.public_key, server_keys.public_key, false, 4);
  std::optional<Received> first, second;
  ASSERT_TRUE(send("hello"));
  ASSERT_TRUE(turn_until([&] { return (first = server->receive()).has_value(); }));

  server->cut(first->route);

  ASSERT_TRUE(turn_until([&] { return client->link_event() == Link::kDisconnected; }));
  ASSERT_TRUE(turn_until([&] { return client->link_event() == Link::kConnected; }));
  ASSERT_TRUE(send("here again"));
  ASSERT_TRUE(turn_until([&] { return (second = server->receive()).has_value(); }));
  EXPECT_NE(first->route, second->route);
}

TEST_F(CurveTest, RefusesAKeyThatIsNotAdmittedAndSaysSo) {
  open(server_keys.public_key, server_keys.public_key);

  std::optional<Link> link;
  ASSERT_TRUE(turn_until([&] { return (link = client->link_event()) == Link::kRefused; }));
  EXPECT_FALSE(server->receive().has_value());
}

TEST_F(CurveTest, SaysThatAPeerIsGoneWhenItsRouteIsUnknown) {
  open(client_keys.public_key, server_keys.public_key);
  Message message;
  message.push_back(Frame::copy("to nobody"));

  EXPECT_EQ(server->send("no such route", message), Sent::kNoSuchPeer);
}

TEST_F(CurveTest, SendsBorrowedMemoryAndReleasesItOnce) {
  open(client_keys.public_key, server_keys.public_key);
  ASSERT_TRUE(send("first"));
  std::atomic<int> released = 0;
  const std::string bytes(512, 'x');
  Message message;
  message.push_back(Frame::borrow(std::as_bytes(std::span(bytes)), [&] { ++released; }));

  ASSERT_EQ(client->send(message), Sent::kYes);

  int got = 0;
  ASSERT_TRUE(turn_until([&] {
    while (auto received = server->receive()) got += received->frames.front().size() == 512;
    return got == 1 && released == 1;
  }));
}

TEST_F(CurveTest, SaysWhichUserIsAtTheOtherEndOfAnIpcSocket) {
  const std::string path = "/tmp/pounce-uid-" + std::to_string(::getpid());
  std::optional<unsigned> asked;
  context.admit("handshake", [&](const ZapQuestion& question) {
    asked = question.uid;
    return true;
  });
  ServerOptions options;
  options.zap_domain = "handshake";
  options.max_frame_bytes = 1024;
  server = *RouterSocket::bind(context, server_keys, options, {"ipc://" + path});
  ClientOptions client_options;
  client_options.max_frame_bytes = 1024;
  client = *DealerSocket::connect(context, client_keys, server_keys.public_key, client_options, "ipc://" + path);

  ASSERT_TRUE(send("who am I?"));
  std::optional<Received> received;
  ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));

  EXPECT_EQ(received->uid, ::geteuid());
  EXPECT_EQ(asked, ::geteuid());
}

TEST_F(CurveTest, KnowsNoUserOfATcpPeer) {
  open(client_keys.public_key, server_keys.public_key);
  ASSERT_TRUE(send("hello"));
  std::optional<Received> received;
  ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));

  EXPECT_EQ(received->uid, std::nullopt);
  EXPECT_EQ(received->address, "127.0.0.1");
}

TEST_F(CurveTest, DropsAMessageOfTooManyFramesWhole) {
  open(client_keys.public_key, server_keys.public_key);
  ASSERT_TRUE(send("first"));
  ASSERT_TRUE(turn_until([&] { return server->receive().has_value(); }));
  Message flood;
  for (int i = 0; i < 2000; ++i) flood.push_back(Frame::copy("x"));

  ASSERT_EQ(client->send(flood), Sent::kYes);
  ASSERT_TRUE(send("after"));
  std::optional<Received> received;
  ASSERT_TRUE(turn_until([&] { return (received = server->receive()).has_value(); }));

  EXPECT_EQ(received->frames.front().text(), "after");
}

TEST_F(CurveTest, CutsThePeerThatSendsAFrameOverTheLimit) {
  open(client_keys.public_key, server_keys.public_key);
  ASSERT_TRUE(send("first"));
  ASSERT_TRUE(turn_until([&] { return server->receive().has_value(); }));

  ASSERT_TRUE(send(std::string(1025, 'x')));

  EXPECT_TRUE(turn_until([&] { return client->link_event() == Link::kDisconnected; }));
  EXPECT_FALSE(server->receive().has_value());
}

TEST_F(CurveTest, RefusesToBindWithoutAnyEndpointFree) {
  open(client_keys.public_key, server_keys.public_key);
  ServerOptions options;
  options.zap_domain = "control";
  options.max_frame_bytes = 1024;

  const auto second = RouterSocket::bind(context, server_keys, options, server->endpoints());

  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("cannot bind " + server->endpoints().front()), std::string::npos);
}

// A worker's main thread is interrupted by signals on purpose; libzmq then gives up with EINTR even what does not wait.
TEST_F(CurveTest, SendsAndReceivesThroughAStormOfSignals) {
  open(client_keys.public_key, server_keys.public_key);
  struct sigaction nothing{}, before{};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR2, &nothing, &before), 0);
  std::atomic<bool> stop = false;
  std::thread storm([&, target = ::pthread_self()] {
    while (!stop) ::pthread_kill(target, SIGUSR2);
  });

  int got = 0;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(send("hello"));
  EXPECT_TRUE(turn_until([&] {
    while (server->receive()) ++got;
    return got == 1000;
  }));

  stop = true;
  storm.join();
  ::sigaction(SIGUSR2, &before, nullptr);
}

}  // namespace
}  // namespace pounce::transport
