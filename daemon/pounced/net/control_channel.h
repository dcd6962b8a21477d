// The control channel without its socket. It decodes each frame of an admitted peer and hands it on with that peer;
// the handlers compare the peer with what the message says about its sender. Thread: loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/curve_key.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"

namespace pounce::daemon {

class ControlChannel {
 public:
  // back: the peer missed a message before and is heard again.
  using MessageHandler = std::function<void(Peer& peer, const protocol::Header& header, bool back)>;
  using LossHandler = std::function<void(Peer& peer)>;  // its connection is gone; it may come back over another one
  using SendFrame = std::function<bool(const std::string& route, const std::string& frame)>;  // false: it is not sent

  explicit ControlChannel(Peers& peers) : peers_(peers) {}

  void on_message(MessageHandler handler) { on_message_ = std::move(handler); }
  void on_loss(LossHandler handler) { on_loss_ = std::move(handler); }
  void send_by(SendFrame send) { send_frame_ = std::move(send); }

  // Handles a frame of this connection, whose key is proven.
  void hear(const PublicKey& key, const std::string& route, std::string_view frame);
  void lost(const std::string& route);

  // false: it could not be sent; the peer is marked and told everything again when it speaks next.
  bool send(Peer& peer, const protocol::Header& header);

 private:
  Peers& peers_;
  MessageHandler on_message_;
  LossHandler on_loss_;
  SendFrame send_frame_;
};

}  // namespace pounce::daemon
