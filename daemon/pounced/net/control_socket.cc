#include "pounced/net/control_socket.h"

#include "protocol/message_limits.h"

namespace pounce::daemon {

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                                           const std::vector<std::string>& endpoints, std::chrono::milliseconds heartbeat,
                                                           unsigned uid, const Peers& peers, ControlChannel& channel) {
  std::unique_ptr<ControlSocket> self(new ControlSocket(loop, channel));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kControlMessageBytes;
  // These heartbeats only drop connections of vanished hosts; peers' own beats show that they live.
  options.heartbeat = heartbeat * 3;
  options.heartbeat_timeout = heartbeat * 9;
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
