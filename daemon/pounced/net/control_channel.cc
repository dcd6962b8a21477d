#include "pounced/net/control_channel.h"

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {

void ControlChannel::hear(const PublicKey& key, const std::string& route, std::string_view frame) {
  Peer* peer = peers_.find(key);
  if (peer == nullptr) return;  // its entry was removed; libzmq cannot cut the connection
  const bool back = peer->missed || (!peer->route.empty() && peer->route != route);
  peer->missed = false;
  peer->route = route;
  peer->last_seen = Clock::now();
  const auto header = protocol::decode(frame, protocol::kControlMessageBytes);
  if (!header) {
    spdlog::warn("malformed message from a peer: {}", header.error().text);
    send(*peer, protocol::Refused{header.error()});
    return;
  }
  on_message_(*peer, *header, back);
}

void ControlChannel::lost(const std::string& route) {
  if (Peer* peer = peers_.on_route(route)) on_loss_(*peer);
}

bool ControlChannel::send(Peer& peer, const protocol::Header& header) {
  if (!peer.route.empty() && send_frame_(peer.route, protocol::encode(header))) return true;
  peer.missed = true;
  return false;
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(transport::EventLoop& loop, transport::Context& context,
                                                           const KeyPair& keys,
                                                           const std::vector<std::string>& endpoints, unsigned uid,
                                                           const Peers& peers, ControlChannel& channel) {
  std::unique_ptr<ControlSocket> self(new ControlSocket(loop, channel));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kControlMessageBytes;
  options.tells_losses = true;
  context.admit(kDomain, [&peers, uid](const transport::ZapQuestion& question) {
    return peers.admits(question.key) && question.uid.value_or(uid) == uid;
  });
  auto socket = transport::RouterSocket::bind(context, keys, options, endpoints);
  if (!socket) return failure(socket.error());
  self->socket_ = std::move(*socket);
  self->watch_ = loop.watch_socket(self->socket_->handle(), [self = self.get()] { self->drain(); });
  self->losses_ = loop.watch_socket(self->socket_->monitor_handle(), [self = self.get()] { self->drain(); });
  return self;
}

ControlSocket::~ControlSocket() {
  loop_.unwatch(watch_);
  loop_.unwatch(losses_);
}

// A peer's messages are handled before the loss of its connection.
void ControlSocket::drain() {
  receive();
  while (const auto route = socket_->lost_route()) channel_.lost(*route);
}

void ControlSocket::receive() {
  // The handshake endpoint and the timers need their turn; the socket stays readable.
  constexpr int kMostPerTurn = 256;
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = socket_->receive();
    if (!received) return;
    channel_.hear(received->peer, received->route, received->frames.front().text());
  }
}

bool ControlSocket::send(const std::string& route, const std::string& frame) {
  transport::Message message;
  message.push_back(transport::Frame::copy(frame));
  return socket_->send(route, message) == transport::Sent::kYes;
}

}  // namespace pounce::daemon
