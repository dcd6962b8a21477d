// The connection against a daemon that the test plays: real sockets in one process and one thread.
#include "control/control_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>

#include "identity/proof.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/router_socket.h"

namespace pounce::control {
namespace {

using namespace std::chrono_literals;
using protocol::Header;

class Server {
 public:
  Server(transport::Context& context, const std::string& domain, const KeyPair& keys, const std::string& endpoint) {
    transport::ServerOptions options;
    options.zap_domain = domain;
    options.max_frame_bytes = protocol::kControlMessageBytes;
    socket_ = std::move(*transport::RouterSocket::bind(context, keys, options, {endpoint}));
  }
  std::string endpoint() const { return socket_->endpoints().front(); }
  void pump() {
    while (auto received = socket_->receive()) {
      route_ = received->route;
      payloads.emplace_back(received->frames.size() > 1 ? received->frames[1].text() : "none");
      heard.push_back(*protocol::decode(received->frames.front().text(), protocol::kControlMessageBytes));
    }
  }
  void say(const Header& header) { say(protocol::encode(header)); }
  void say(const std::string& text) {
    transport::Message message;
    message.push_back(transport::Frame::copy(text));
    ASSERT_EQ(socket_->send(route_, message), transport::Sent::kYes);
  }

  std::vector<Header> heard;
  std::vector<std::string> payloads;

 private:
  std::unique_ptr<transport::RouterSocket> socket_;
  std::string route_;
};

class ControlConnectionTest : public testing::Test {
 protected:
  ControlConnectionTest() {
    for (const char* domain : {"greeting", "channel"})
      servers.admit(domain, [this](const transport::ZapQuestion&) { return admitted; });
    char pattern[] = "/tmp/pounce-test-XXXXXX";
    folder = ::mkdtemp(pattern);
    start_daemon();
    manner.hello.role = protocol::Role::kWorker;
    manner.patience = {10s, 3};
  }
  ~ControlConnectionTest() override {
    connection.reset();
    greeting.reset();
    channel.reset();
    std::filesystem::remove_all(folder);
  }

  void start_daemon() {
    greeting.emplace(servers, "greeting", daemon_keys, "ipc://" + folder + "/greeting");
    channel.emplace(servers, "channel", daemon_keys, "ipc://" + folder + "/channel");
  }
  void connect() {
    if (!connection) connection.emplace(context, keys, manner);
    connection->connect({.key = daemon_keys.public_key, .endpoint = greeting->endpoint()}, now());
  }
  void welcome() {
    settle([&] { return !greeting->heard.empty(); });
    protocol::Welcome welcome;
    welcome.control = {"tcp://127.0.0.1:1", channel->endpoint()};
    welcome.heartbeat_ms = 1000;
    greeting->say(welcome);
  }
  void open() {
    connect();
    welcome();
    settle([&] { return count<Opened>() > 0; });
  }

  // The daemon's silence is the test's own: the connection's clock runs ahead of the real one by `ahead`.
  TimePoint now() const { return Clock::now() + ahead; }
  void turn() {
    servers.service_zap();
    for (auto* server : {&greeting, &channel})
      if (*server) (*server)->pump();
    for (Event& event : connection->pump(now())) events.push_back(std::move(event));
  }
  void settle(const std::function<bool()>& condition) {
    const TimePoint deadline = Clock::now() + 20s;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "it does not come true";
      turn();
    }
  }
  template <class Kind>
  std::ptrdiff_t count() const {
    return std::ranges::count_if(events, [](const Event& event) { return std::holds_alternative<Kind>(event); });
  }
  template <class Kind>
  const Error& error() {
    settle([&] { return count<Kind>() > 0; });
    for (const Event& event : events)
      if (const auto* found = std::get_if<Kind>(&event)) return found->error;
    return none;
  }

  const Error none{};
  const KeyPair keys = identity::make_key_pair(), daemon_keys = identity::make_key_pair();
  std::string folder;
  bool admitted = true;
  transport::Context servers, context;
  std::optional<Server> greeting, channel;
  Manner manner;
  std::optional<ControlConnection> connection;
  std::vector<Event> events;
  std::chrono::seconds ahead{0};
};

TEST_F(ControlConnectionTest, SaysHelloWithItsKeyAndAProofFrameAndThenTheFirstMessage) {
  manner.first = protocol::StatusAsk{7};
  open();
  settle([&] { return !channel->heard.empty(); });
  const auto& hello = std::get<protocol::Hello>(greeting->heard.front());
  EXPECT_EQ(hello.key, transport::to_z85(keys.public_key));
  EXPECT_EQ(greeting->payloads.front(), "");
  EXPECT_TRUE(std::holds_alternative<protocol::StatusAsk>(channel->heard.front()));
  EXPECT_EQ(connection->opening(), 1u);
  const TimePoint beat = connection->next_beat(Clock::now());
  EXPECT_EQ(connection->next_beat(beat), beat + 1s) << "as the welcome says";
}

// Else a question asked at that moment would be dropped though the daemon has heard of us.
TEST_F(ControlConnectionTest, IsOpenWhenItsFirstMessageHasArrived) {
  manner.first = protocol::StatusAsk{7};
  connect();
  welcome();
  settle([&] { return !channel->heard.empty(); });
  EXPECT_TRUE(connection->open());
}

TEST_F(ControlConnectionTest, WaitsForItsProofInTheNetwork) {
  manner.reach = Reach::kNetwork;
  connect();
  turn();
  EXPECT_FALSE(connection->descriptors().socket >= 0) << "nothing to say yet";
  connection->proved(std::string("credential"), now());
  settle([&] { return !greeting->heard.empty(); });
  EXPECT_EQ(greeting->payloads.front(), "credential");
}

TEST_F(ControlConnectionTest, SaysOneHelloPerProofAndNeverAProofOfAnEarlierAttempt) {
  manner.reach = Reach::kNetwork;
  connect();
  connection->proved(std::string("first"), now());
  settle([&] { return !greeting->heard.empty(); });
  connection->proved(std::string("late"), now());
  connect();
  connection->proved(std::string("second"), now());
  settle([&] { return greeting->heard.size() > 1; });
  EXPECT_THAT(greeting->payloads, testing::ElementsAre("first", "second"));
}

TEST_F(ControlConnectionTest, TellsWhyThereIsNoProof) {
  manner.reach = Reach::kNetwork;
  connect();
  connection->proved(failure(ErrorCode::kInternal, "munged does not answer"), now());
  EXPECT_EQ(error<Lost>().text, "munged does not answer");
  EXPECT_TRUE(connection->down());
}

TEST_F(ControlConnectionTest, TellsOfARefusalAndIsDown) {
  connect();
  settle([&] { return !greeting->heard.empty(); });
  greeting->say(protocol::Refused{Error{ErrorCode::kNotAuthenticated, "no", {}, {}}});
  EXPECT_EQ(error<Refused>().text, "no");
  EXPECT_TRUE(connection->down());
}

TEST_F(ControlConnectionTest, TellsThatItsKeyIsNotAccepted) {
  admitted = false;
  connect();
  EXPECT_EQ(error<Lost>().code, ErrorCode::kNotAuthenticated);
}

TEST_F(ControlConnectionTest, TellsOnceThatTheDaemonIsGone) {
  open();
  greeting.reset();
  channel.reset();
  error<Lost>();
  turn();
  EXPECT_EQ(count<Lost>(), 1);
  EXPECT_EQ(connection->opening(), 0u);
}

TEST_F(ControlConnectionTest, TellsThatNoAnswerCameInTime) {
  connect();
  settle([&] { return !greeting->heard.empty(); });
  ahead = 11s;
  EXPECT_EQ(error<Lost>().code, ErrorCode::kTimeout);
}

TEST_F(ControlConnectionTest, AnswersABeatAndHandsItOn) {
  open();
  connection->send(protocol::StatusAsk{7}, now());  // so that the daemon knows where to answer
  settle([&] { return !channel->heard.empty(); });
  channel->say(protocol::Beat{false, 42, 0});
  settle([&] { return channel->heard.size() > 1; });
  const auto& beat = std::get<protocol::Beat>(channel->heard.back());
  EXPECT_TRUE(beat.answer);
  EXPECT_EQ(beat.sent_ns, 42);
  EXPECT_EQ(count<Header>(), 1);
}

TEST_F(ControlConnectionTest, TakesASilentDaemonForLost) {
  open();
  ahead = 4s;
  EXPECT_EQ(error<Lost>().text, "pounced is silent");
}

// A kernel that was stopped, or a laptop that slept: the answer lies in the socket.
TEST_F(ControlConnectionTest, DoesNotTakeItsOwnStandstillForTheDaemonsSilence) {
  open();
  connection->send(protocol::StatusAsk{7}, now());
  settle([&] { return !channel->heard.empty() && !connection->descriptors().stale; });
  channel->say(protocol::Notice{"here"});
  pollfd arrival{connection->descriptors().socket, POLLIN, 0};
  ASSERT_EQ(::poll(&arrival, 1, 20'000), 1);

  ahead = 4s;
  turn();

  EXPECT_EQ(count<Header>(), 1);
  EXPECT_TRUE(connection->open());
}

TEST_F(ControlConnectionTest, HandsOnThatAMessageCannotBeRead) {
  open();
  connection->send(protocol::StatusAsk{7}, now());
  settle([&] { return !channel->heard.empty(); });
  channel->say(std::string("{\"type\":\"of a later version\"}"));
  error<Unreadable>();
  EXPECT_TRUE(connection->open());
}

TEST_F(ControlConnectionTest, TakesADaemonThatDoesNotReadForLost) {
  manner.unsent = 2;
  open();
  // Nobody pumps the channel: what is sent fills the buffers between here and there, and then waits.
  for (int i = 0; i < 1'000'000 && !connection->down(); ++i) connection->send(protocol::StatusAsk{7}, now());
  EXPECT_TRUE(connection->down());
  EXPECT_EQ(connection->next_deadline(), TimePoint::min()) << "there is something to tell";
}

TEST_F(ControlConnectionTest, EachOpeningHasItsOwnNumber) {
  open();
  greeting.reset();
  channel.reset();
  error<Lost>();
  events.clear();
  start_daemon();
  open();
  EXPECT_EQ(connection->opening(), 2u);
}

}  // namespace
}  // namespace pounce::control
