#include "pounced/hall.h"

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/limits.h"

namespace pounce::daemon {

Result<std::unique_ptr<Hall>> Hall::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                         const std::vector<std::string>& endpoints, std::chrono::milliseconds heartbeat,
                                         unsigned uid, Guests& guests) {
  std::unique_ptr<Hall> hall(new Hall(loop, guests));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kHallMessageBytes;
  // Only to drop connections of hosts that vanished: guests' own beats say that they live.
  options.heartbeat = heartbeat * 3;
  options.heartbeat_timeout = heartbeat * 9;
  context.admit(kDomain, [&guests, uid](const transport::ZapQuestion& question) {
    return guests.admits(question.key) && question.uid.value_or(uid) == uid;
  });
  auto socket = transport::RouterSocket::bind(context, keys, options, endpoints);
  if (!socket) return failure(socket.error());
  hall->socket_ = std::move(*socket);
  hall->watch_ = loop.watch_socket(hall->socket_->handle(), [hall = hall.get()] { hall->drain(); });
  return hall;
}

Hall::~Hall() { loop_.unwatch(watch_); }

void Hall::drain() {
  constexpr int kMostPerTurn = 256;  // the door's and the timers' turn must come; the socket stays readable
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = socket_->receive();
    if (!received) return;
    hear(*received);
  }
}

void Hall::hear(const transport::Received& received) {
  Guest* guest = guests_.find(received.peer);
  if (guest == nullptr) return;  // its entry was taken back; libzmq cannot cut the connection
  const bool back = guest->missed || (!guest->route.empty() && guest->route != received.route);
  guest->missed = false;
  guest->route = received.route;
  guest->heard = Clock::now();
  const auto header = protocol::decode(received.frames.front().text(), protocol::kHallMessageBytes);
  if (!header) {
    spdlog::warn("malformed message from a guest: {}", header.error().text);
    send(*guest, protocol::Refused{header.error()});
    return;
  }
  heard_(*guest, *header, back);
}

bool Hall::send(Guest& guest, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (!guest.route.empty() && socket_->send(guest.route, message) == transport::Sent::kYes) return true;
  guest.missed = true;
  return false;
}

}  // namespace pounce::daemon
