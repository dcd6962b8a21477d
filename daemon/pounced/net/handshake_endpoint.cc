#include "pounced/net/handshake_endpoint.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/printable.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kShown = 200;  // bytes of an untrusted peer's text in the log
constexpr int kHighWaterMark = 64;  // a peer has at most one HELLO under way

}  // namespace

Result<std::unique_ptr<HandshakeEndpoint>> HandshakeEndpoint::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                         HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers, ProofChecker& checker) {
  std::unique_ptr<HandshakeEndpoint> self(new HandshakeEndpoint(loop, std::move(plan), authenticator, peers, checker));
  // The kernel names the peer's user. Other users, root too, are refused. The listener connects as this user.
  context.admit(kDomain, [uid = self->plan_.uid](const transport::ZapQuestion& question) { return question.uid == uid; });
  for (auto [entrance, endpoint] : {std::pair(&self->local_, &self->plan_.local), std::pair(&self->remote_, &self->plan_.remote)})
    if (const auto opened = self->open(*entrance, *endpoint, context, keys); !opened) return failure(opened.error());
  return self;
}

HandshakeEndpoint::~HandshakeEndpoint() {
  loop_.unwatch(local_.watch);
  loop_.unwatch(remote_.watch);
}

Result<void> HandshakeEndpoint::open(Entrance& entrance, const std::string& endpoint, transport::Context& context, const KeyPair& keys) {
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kHandshakeMessageBytes;
  options.high_water_mark = kHighWaterMark;
  auto socket = transport::RouterSocket::bind(context, keys, options, {endpoint});
  if (!socket) return failure(socket.error());
  entrance.socket = std::move(*socket);
  entrance.watch = loop_.watch_socket(entrance.socket->handle(), [this, &entrance] { drain(entrance); });
  return {};
}

void HandshakeEndpoint::drain(Entrance& entrance) {
  constexpr int kMostPerTurn = 64;  // the control channel needs its turn
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = entrance.socket->receive();
    if (!received) return;
    hear(entrance, *received);
  }
}

void HandshakeEndpoint::hear(Entrance& entrance, const transport::Received& received) {
  Handshake handshake{received.peer, entrance.local ? received.uid : std::nullopt, {}};
  for (const transport::Frame& frame : received.frames) handshake.frames.push_back(frame.text());
  const Caller caller{entrance, received.route};
  Verdict verdict = authenticator_.judge(handshake, Clock::now());
  if (const auto* error = std::get_if<Error>(&verdict)) return refuse(caller, *error);
  if (auto* peer = std::get_if<Peer>(&verdict)) return welcome(caller, std::move(*peer));
  check(caller, std::move(std::get<ProofToCheck>(verdict)));
}

void HandshakeEndpoint::check(const Caller& caller, ProofToCheck question) {
  auto done = [this, caller, peer = std::move(question.peer)](const Result<void>& outcome) {
    if (outcome)
      welcome(caller, peer);
    else
      refuse(caller, outcome.error());
  };
  if (!checker_.check(std::move(question.claim), std::move(question.proof), std::move(done)))
    refuse(caller, {ErrorCode::kDaemonUnavailable, "too many hellos wait: try again in a second", {}, {}});
}

void HandshakeEndpoint::welcome(const Caller& caller, Peer peer) {
  const std::string who = peer.role == protocol::Role::kClient ? "client session=" + peer.session.hex()
                                                                : "worker lease=" + peer.lease.hex();
  if (!peers_.admit(std::move(peer), Clock::now()))
    return refuse(caller,
                  {ErrorCode::kDaemonUnavailable, "this daemon serves all the clients and workers it can", {}, {}});
  spdlog::info("admitted {}", who);
  protocol::Welcome answer;
  for (const std::string& endpoint : plan_.control_endpoints)
    if (caller.entrance.local || !endpoint.starts_with("ipc://")) answer.control.push_back(endpoint);
  answer.instance = plan_.instance.hex();
  answer.heartbeat_ms = plan_.heartbeat_ms;
  send(caller, answer);
}

void HandshakeEndpoint::refuse(const Caller& caller, const Error& error) {
  if (lines_.take(Clock::now()))
    spdlog::warn("refused a hello ({} more since the last line): {}", std::exchange(unsaid_, 0), printable(error.text, kShown));
  else
    ++unsaid_;
  send(caller, protocol::Refused{error});
}

void HandshakeEndpoint::send(const Caller& caller, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (caller.entrance.socket->send(caller.route, message) != transport::Sent::kYes) spdlog::debug("the one who said hello is gone");
}

}  // namespace pounce::daemon
