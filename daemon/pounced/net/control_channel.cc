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

}  // namespace pounce::daemon
