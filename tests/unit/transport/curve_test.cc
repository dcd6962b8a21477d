// A CURVE server and its clients: who gets in, and what each side is told.
#include <gtest/gtest.h>

#include "identity/keys.h"
#include "transport/context.h"
#include "transport/dealer_socket.h"
#include "transport/poll_set.h"
#include "transport/router_socket.h"

namespace pounce::transport {
namespace {

using std::chrono::seconds;

struct CurveTest : testing::Test {
  KeyPair server_keys = identity::make_key_pair(), client_keys = identity::make_key_pair();
  Context context;
  std::unique_ptr<RouterSocket> server;
  std::unique_ptr<DealerSocket> client;

  void open(const PublicKey& admitted, const PublicKey& expected_server) {
    context.admit("hall", [admitted](const ZapQuestion& question) { return question.key == admitted; });
    ServerOptions options;
    options.zap_domain = "hall";
    options.max_frame_bytes = 1024;
    auto bound = RouterSocket::bind(context, server_keys, options, {"tcp://127.0.0.1:*"});
    ASSERT_TRUE(bound) << bound.error().text;
    server = std::move(*bound);
    ClientOptions client_options;
    client_options.max_frame_bytes = 1024;
    auto connected =
        DealerSocket::connect(context, client_keys, expected_server, client_options, server->endpoints().front());
    ASSERT_TRUE(connected) << connected.error().text;
    client = std::move(*connected);
  }

  // Turns until `done` or ten seconds.
  template <class Done>
  bool turn_until(const Done& done) {
    const TimePoint deadline = Clock::now() + seconds(10);
    PollSet poll;
    while (!done()) {
      if (Clock::now() > deadline) return false;
      poll.clear();
      for (void* handle : {context.zap_handle(), server->handle(), client->handle(), client->monitor_handle()})
        poll.add_socket(handle);
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

}  // namespace
}  // namespace pounce::transport
