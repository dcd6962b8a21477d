#include "pounced/net/control_channel.h"

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {

Result<std::unique_ptr<ControlChannel>> ControlChannel::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                         const std::vector<std::string>& endpoints, std::chrono::milliseconds heartbeat,
                                         unsigned uid, Peers& peers) {
  std::unique_ptr<ControlChannel> control(new ControlChannel(loop, peers));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kControlMessageBytes;
  // Only to drop connections of hosts that vanished: peers' own beats say that they live.
  options.heartbeat = heartbeat * 3;
  options.heartbeat_timeout = heartbeat * 9;
  options.tells_losses = true;
  context.admit(kDomain, [&peers, uid](const transport::ZapQuestion& question) {
    return peers.admits(question.key) && question.uid.value_or(uid) == uid;
  });
  auto socket = transport::RouterSocket::bind(context, keys, options, endpoints);
  if (!socket) return failure(socket.error());
  control->socket_ = std::move(*socket);
  control->watch_ = loop.watch_socket(control->socket_->handle(), [control = control.get()] { control->drain(); });
  control->losses_ = loop.watch_socket(control->socket_->monitor_handle(), [control = control.get()] { control->drain(); });
  return control;
}

ControlChannel::~ControlChannel() {
  loop_.unwatch(watch_);
  loop_.unwatch(losses_);
}

// What a peer has said comes before the loss of its connection.
void ControlChannel::drain() {
  receive();
  notice_losses();
}

void ControlChannel::receive() {
  constexpr int kMostPerTurn = 256;  // the handshake endpoint's and the timers' turn must come; the socket stays readable
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = socket_->receive();
    if (!received) return;
    hear(*received);
  }
}

void ControlChannel::hear(const transport::Received& received) {
  Peer* peer = peers_.find(received.peer);
  if (peer == nullptr) return;  // its entry was taken back; libzmq cannot cut the connection
  const bool back = peer->missed || (!peer->route.empty() && peer->route != received.route);
  peer->missed = false;
  peer->route = received.route;
  peer->last_seen = Clock::now();
  const auto header = protocol::decode(received.frames.front().text(), protocol::kControlMessageBytes);
  if (!header) {
    spdlog::warn("malformed message from a peer: {}", header.error().text);
    send(*peer, protocol::Refused{header.error()});
    return;
  }
  on_message_(*peer, *header, back);
}

void ControlChannel::notice_losses() {
  while (const auto route = socket_->lost_route())
    if (Peer* peer = peers_.on_route(*route)) on_loss_(*peer);
}

bool ControlChannel::send(Peer& peer, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (!peer.route.empty() && socket_->send(peer.route, message) == transport::Sent::kYes) return true;
  peer.missed = true;
  return false;
}

}  // namespace pounce::daemon
