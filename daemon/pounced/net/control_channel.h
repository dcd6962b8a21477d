// The control channel and its socket: each frame of a peer whose key is admitted is read and handed on with that peer;
// the handlers compare it with what the message says about its sender. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

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

// The channel's socket: only keys that the handshake endpoint let in may even connect.
class ControlSocket {
 public:
  static constexpr char kDomain[] = "control";

  // Passes messages to the channel, which outlives the socket.
  static Result<std::unique_ptr<ControlSocket>> open(transport::EventLoop& loop, transport::Context& context,
                                                     const KeyPair& keys, const std::vector<std::string>& endpoints,
                                                     unsigned uid, const Peers& peers, ControlChannel& channel);
  ~ControlSocket();

  bool send(const std::string& route, const std::string& frame);

 private:
  ControlSocket(transport::EventLoop& loop, ControlChannel& channel) : loop_(loop), channel_(channel) {}
  void drain();
  void receive();

  transport::EventLoop& loop_;
  ControlChannel& channel_;
  std::unique_ptr<transport::RouterSocket> socket_;
  transport::EventLoop::WatchId watch_ = 0, losses_ = 0;
};

}  // namespace pounce::daemon
