// A client's engine against a daemon and workers that the test plays: real sockets in one process and one thread, so
// that every step is the test's own. settle() turns all sides until something is true.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random_id.h"
#include "bulk/acceptor.h"
#include "bulk/lane.h"
#include "client/engine.h"
#include "identity/content_digest.h"
#include "identity/proof.h"
#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/frame.h"
#include "transport/router_socket.h"

namespace pounce::client {

using namespace std::chrono_literals;

// A server that keeps what it hears and says what the test wants.
class Peer {
 public:
  Peer(transport::Context& context, const std::string& domain, const KeyPair& keys, const std::string& endpoint) {
    transport::ServerOptions options;
    options.zap_domain = domain;
    options.max_frame_bytes = protocol::kDataFrameBytes;
    options.most_newcomers = 64;  // with which a connection can be cut
    auto bound = transport::RouterSocket::bind(context, keys, options, {endpoint});
    POUNCE_CHECK(bound.has_value(), "the test's socket binds");
    socket_ = std::move(*bound);
  }

  const std::string& endpoint() const { return socket_->endpoints().front(); }
  void pump() {
    while (auto received = socket_->receive()) {
      if (received->route == cut_) continue;
      // As a worker does: what comes late, of a connection that is over, is not heard.
      const auto header = protocol::decode(received->frames.front().text(), protocol::kControlMessageBytes);
      if ((header && std::holds_alternative<protocol::Attach>(*header)) || count<protocol::Attach>() == 0)
        route_ = received->route;
      if (received->route != route_) continue;
      ++messages;
      hear(received->frames);
    }
  }
  void hear(const transport::Message& frames) {
    auto header = protocol::decode(frames.front().text(), protocol::kControlMessageBytes);
    POUNCE_CHECK(header.has_value(), "the client speaks the protocol");
    if (const auto* several = std::get_if<protocol::Several>(&*header)) {
      const auto packed = transport::unpack(frames.at(1).text(), several->messages);
      POUNCE_CHECK(packed.has_value(), "the client packs so that it can be unpacked");
      for (const transport::Message& one : *packed) hear(one);
      return;
    }
    std::vector<std::string> payload;
    for (std::size_t i = 1; i < frames.size(); ++i) payload.emplace_back(frames[i].text());
    if (const auto* beat = std::get_if<protocol::Beat>(&*header); beat != nullptr && !beat->answer && answers_beats)
      try_to_say(protocol::Beat{true, beat->sent_ns, beat->sent_ns + clock_ahead.count()}, {});  // it may have gone
    heard.push_back({std::move(*header), std::move(payload)});
  }
  // As one message.
  void say_together(const std::deque<std::pair<protocol::Header, std::string>>& several) {
    std::deque<transport::Message> all;
    for (const auto& [header, payload] : several) {
      transport::Message& one = all.emplace_back();
      one.push_back(transport::Frame::copy(protocol::encode(header)));
      one.push_back(transport::Frame::copy(payload));
    }
    transport::Message message;
    message.push_back(
        transport::Frame::copy(protocol::encode(protocol::Several{static_cast<std::uint32_t>(all.size())})));
    message.push_back(transport::pack(all, all.size()));
    ASSERT_EQ(socket_->send(route_, message), transport::Sent::kYes);
  }
  void say(const protocol::Header& header, const std::vector<std::string>& payload = {}) {
    ASSERT_EQ(try_to_say(header, payload), transport::Sent::kYes);
  }
  transport::Sent try_to_say(const protocol::Header& header, const std::vector<std::string>& payload) {
    transport::Message message;
    message.push_back(transport::Frame::copy(protocol::encode(header)));
    for (const std::string& bytes : payload) message.push_back(transport::Frame::copy(bytes));
    return socket_->send(route_, message);
  }

  void cut() { socket_->cut(cut_ = route_); }

  struct Heard {
    protocol::Header header;
    std::vector<std::string> payload;
  };
  // The messages of one type, in order.
  template <class Message>
  std::vector<Message> all() const {
    std::vector<Message> messages;
    for (const Heard& item : heard)
      if (const auto* message = std::get_if<Message>(&item.header)) messages.push_back(*message);
    return messages;
  }
  template <class Message>
  std::string payload_of_last() const {
    for (auto item = heard.rbegin(); item != heard.rend(); ++item)
      if (std::holds_alternative<Message>(item->header)) return item->payload.empty() ? "" : item->payload.front();
    return "";
  }
  template <class Message>
  std::size_t count() const {
    return all<Message>().size();
  }

  std::vector<Heard> heard;
  std::size_t messages = 0;  // as they came
  bool answers_beats = true;
  std::chrono::nanoseconds clock_ahead{0};

 private:
  std::unique_ptr<transport::RouterSocket> socket_;
  std::string route_, cut_;
};

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/pounce-test-XXXXXX";
    folder = ::mkdtemp(pattern);
    for (const char* domain : {"handshake", "control", "data"})
      servers.admit(domain, [this](const transport::ZapQuestion&) { return admitted; });
    start_daemon();
    client::Setup setup;
    setup.session.session = session;
    setup.attach.python = "3.11", setup.attach.pounce = kVersion;
    KeyPair keys = identity::make_key_pair();
    key = keys.public_key;
    engine.emplace(context, std::move(keys), std::move(setup), events);
  }
  void TearDown() override {
    engine.reset();
    workers.clear();
    handshake.reset();
    control.reset();
    std::error_code vanishing;  // closed listeners remove their own files meanwhile
    std::filesystem::remove_all(folder, vanishing);
  }

  // Each at a place of its own: ZeroMQ closes a listener some time after its socket and removes the file at its path
  // then, be it the next socket's by now.
  void start_daemon() {
    daemon_keys = identity::make_key_pair();
    const std::string place = "ipc://" + folder + "/" + std::to_string(++daemons);
    handshake.emplace(servers, "handshake", daemon_keys, place + "handshake");
    control.emplace(servers, "control", daemon_keys, place + "control");
  }
  protocol::EndpointFile endpoint() const {
    protocol::EndpointFile file;
    file.key = transport::to_z85(daemon_keys.public_key);
    file.handshake = {handshake->endpoint()};
    return file;
  }
  // The daemon's part up to an open session. It may have heard of it before the engine knows that it is open: what is
  // only sent over an open one has to be tried until it is.
  void open_session() {
    ASSERT_TRUE(engine->set_daemon(endpoint()));
    settle([&] { return handshake->count<protocol::Hello>() > 0; });
    protocol::Welcome welcome;
    welcome.control = {control->endpoint()};
    handshake->say(welcome);
    settle([&] { return control->count<protocol::OpenSession>() > 0; });
  }

  // A worker that accepts us, attached as worker 0 of a lease.
  Peer& add_worker(int lease, std::uint32_t epoch = 1) {
    auto& worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
    grant(lease, *worker, epoch);
    settle([&] { return worker->count<protocol::Attach>() > 0; });
    protocol::Attached who;
    who.node = "g1";
    who.devices = "gpu:a100:1";
    worker->say(who);
    settle([&] { return worker->count<protocol::Beat>() > 0; });
    return *worker;
  }
  // Its connection is lost; the next one begins with what it says to have. Only what is heard from there on is left.
  void reconnect(Peer& worker, std::vector<protocol::Reached> reached) {
    worker.cut();
    const std::size_t before = worker.count<protocol::Attach>();
    settle([&] { return worker.count<protocol::Attach>() > before; });
    worker.heard.clear();
    protocol::Attached who;
    who.reached = std::move(reached);
    worker.say(who);
  }
  void grant(int lease, const Peer& worker, std::uint32_t epoch = 1) {
    control->say(protocol::Granted{RequestId{1}, lease_id(lease), WorkerIndex{0}, Epoch{epoch}, worker.endpoint(),
                                   transport::to_z85(worker_keys.public_key)});
  }
  static LeaseId lease_id(int number) { return LeaseId({static_cast<std::uint8_t>(number)}); }

  TaskId submit(std::vector<ObjectId> objects = {}, std::uint32_t retries = 0, std::string function = "function") {
    Call call;
    call.task = random_id<TaskId>();
    call.retries = retries;
    call.function_pickle = own_bytes(std::move(function));
    call.function = FunctionId(identity::content_digest(call.function_pickle.bytes));
    call.payload = {own_bytes("arguments")};
    call.objects = std::move(objects);
    call.submitted_ns = Clock::now().time_since_epoch().count();
    engine->submit(call);
    return call.task;
  }
  static void finish(Peer& worker, const TaskId& task, const std::string& pickle = "result") {
    protocol::Outcome outcome;
    outcome.task = task;
    outcome.ok = true;
    worker.say(outcome, {pickle});
  }

  void turn() {
    engine->turn(no_wake.get(), Clock::now() + 1ms);
    servers.service_zap();
    if (handshake) handshake->pump();
    if (control) control->pump();
    for (auto& worker : workers) worker->pump();
    for (Event& item : events.drain()) told.push_back(std::move(item));
  }
  void settle(const std::function<bool()>& condition, int asked_in_line = __builtin_LINE()) {
    const TimePoint deadline = Clock::now() + 20s;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "asked in line " << asked_in_line << ": it does not come true";
      turn();
    }
  }
  // The end of a task, once it has come.
  const Ended* ended(const TaskId& task) const {
    for (const Event& item : told)
      if (const auto* end = std::get_if<Ended>(&item); end != nullptr && end->task == task) return end;
    return nullptr;
  }
  const Ended& end_of(const TaskId& task) {
    settle([&] { return ended(task) != nullptr; });
    return *ended(task);
  }
  template <class Kind>
  std::size_t count_told() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(told, [](const Event& item) { return std::holds_alternative<Kind>(item); }));
  }

  std::string folder;
  int daemons = 0;
  SessionId session = random_id<SessionId>();
  PublicKey key;  // of the client
  bool admitted = true;
  KeyPair daemon_keys = identity::make_key_pair(), worker_keys = identity::make_key_pair();
  transport::Context servers, context;
  std::optional<Peer> handshake, control;
  std::vector<std::unique_ptr<Peer>> workers;
  UniqueFd no_wake{::eventfd(0, EFD_CLOEXEC)};
  EventQueue events;
  std::optional<Engine> engine;
  std::vector<Event> told;
};

inline std::string text_of(const WritableBytes& memory) {
  return {reinterpret_cast<const char*>(memory.bytes.data()), memory.bytes.size()};
}

// With an acceptor of bulk lanes, which the workers share.
class LanesTest : public EngineTest {
 protected:
  void SetUp() override {
    if (!bulk::Lane::available()) GTEST_SKIP() << "this build has no OpenSSL: data takes ZeroMQ";
    EngineTest::SetUp();
    open_session();
    acceptor = std::move(*bulk::Acceptor::bind("tcp://127.0.0.1:*"));
  }
  void TearDown() override {
    if (bulk::Lane::available()) EngineTest::TearDown();
  }

  std::unique_ptr<bulk::Acceptor> acceptor;
};

}  // namespace pounce::client
