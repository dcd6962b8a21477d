#include "pounced/net/handshake_endpoint.h"

#include <exception>
#include <utility>

#include "base/log.h"
#include "base/printable.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kShown = 200;  // bytes of a stranger's words in the log
constexpr int kHighWaterMark = 64;  // nobody has more than one HELLO under way

}  // namespace

Result<std::unique_ptr<HandshakeEndpoint>> HandshakeEndpoint::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                         HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers, ProofChecker& checker) {
  std::unique_ptr<HandshakeEndpoint> handshake(new HandshakeEndpoint(loop, std::move(plan), authenticator, peers, checker));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kHandshakeMessageBytes;
  options.high_water_mark = kHighWaterMark;
  context.admit(kDomain, [&handshake = *handshake](const transport::ZapQuestion& question) { return handshake.let_handshake(question); });
  auto socket = transport::RouterSocket::bind(context, keys, options, handshake->plan_.endpoints);
  if (!socket) return failure(socket.error());
  handshake->socket_ = std::move(*socket);
  handshake->watch();
  return handshake;
}

HandshakeEndpoint::~HandshakeEndpoint() {
  loop_.unwatch(watch_);
  loop_.unwatch(recycle_timer_);
}

void HandshakeEndpoint::watch() {
  watch_ = loop_.watch_socket(socket_->handle(), [this] { drain(); });
}

// On ipc the kernel names the peer's user: another one (root too) has nothing to say here.
bool HandshakeEndpoint::let_handshake(const transport::ZapQuestion& question) {
  if (question.uid && *question.uid != plan_.uid) return false;
  ++visits_;
  if (recycle_timer_ == 0) recycle_timer_ = loop_.at(Clock::now() + kRecycle, [this] { recycle(); });
  if (visits_ == kMostVisits) {
    loop_.unwatch(recycle_timer_);
    recycle_timer_ = loop_.at(Clock::now() + kServe, [this] { recycle(); });
  }
  return true;
}

void HandshakeEndpoint::drain() {
  constexpr int kMostPerTurn = 64;  // the control channel's turn must come
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = socket_->receive();
    if (!received) return;
    hear(*received);
  }
}

void HandshakeEndpoint::hear(const transport::Received& received) {
  Handshake handshake{received.peer, received.uid, {}};
  for (const transport::Frame& frame : received.frames) handshake.frames.push_back(frame.text());
  const bool local = received.uid.has_value();
  Verdict verdict = authenticator_.judge(handshake, Clock::now());
  if (const auto* error = std::get_if<Error>(&verdict)) return refuse(received.route, *error);
  if (auto* peer = std::get_if<Peer>(&verdict)) return welcome(received.route, local, std::move(*peer));
  check(received.route, local, std::move(std::get<ProofToCheck>(verdict)));
}

void HandshakeEndpoint::check(const std::string& route, bool local, ProofToCheck question) {
  auto done = [this, route, local, peer = std::move(question.peer)](const Result<void>& outcome) {
    if (outcome)
      welcome(route, local, peer);
    else
      refuse(route, outcome.error());
  };
  if (!checker_.check(std::move(question.claim), std::move(question.proof), std::move(done)))
    refuse(route, {ErrorCode::kDaemonUnavailable, "too many hellos wait: try again in a second", {}, {}});
}

void HandshakeEndpoint::welcome(const std::string& route, bool local, Peer peer) {
  const std::string who = peer.role == protocol::Role::kClient ? "client session=" + peer.session.hex()
                                                                : "worker lease=" + peer.lease.hex();
  if (!peers_.admit(std::move(peer), Clock::now()))
    return refuse(route,
                  {ErrorCode::kDaemonUnavailable, "this daemon serves all the clients and workers it can", {}, {}});
  spdlog::info("admitted {}", who);
  protocol::Welcome answer;
  for (const std::string& endpoint : plan_.control_endpoints)
    if (local || !endpoint.starts_with("ipc://")) answer.control.push_back(endpoint);
  answer.instance = plan_.instance.hex();
  answer.heartbeat_ms = plan_.heartbeat_ms;
  send(route, answer);
}

void HandshakeEndpoint::refuse(const std::string& route, const Error& error) {
  if (lines_.take(Clock::now()))
    spdlog::warn("refused a hello ({} more since the last line): {}", std::exchange(unsaid_, 0), printable(error.text, kShown));
  else
    ++unsaid_;
  send(route, protocol::Refused{error});
}

void HandshakeEndpoint::send(const std::string& route, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (socket_->send(route, message) != transport::Sent::kYes) spdlog::debug("the one who said hello is gone");
}

void HandshakeEndpoint::recycle() {
  recycle_timer_ = 0;
  visits_ = 0;
  loop_.unwatch(watch_);
  try {
    socket_->rebind();
    watch();
  } catch (const std::exception& error) {
    // Without a handshake endpoint no worker could come back: better a new daemon, which takes everything over.
    spdlog::critical("the handshake endpoint cannot be opened again: {}", error.what());
    loop_.stop();
  }
}

}  // namespace pounce::daemon
