// The control channel: only keys that the handshake endpoint let in may even connect. Each message is handed on with the
// peer that its key belongs to; the handlers compare it with what the message says about its sender. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/result.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

class ControlChannel {
 public:
  static constexpr char kDomain[] = "control";
  // back: the peer missed something before and is heard again.
  using MessageHandler = std::function<void(Peer& peer, const protocol::Header& header, bool back)>;
  using LossHandler = std::function<void(Peer& peer)>;  // its connection is gone; it may come back over another one

  static Result<std::unique_ptr<ControlChannel>> open(transport::EventLoop& loop, transport::Context& context,
                                            const KeyPair& keys, const std::vector<std::string>& endpoints,
                                            std::chrono::milliseconds heartbeat, unsigned uid, Peers& peers);
  ~ControlChannel();

  void on_message(MessageHandler handler) { on_message_ = std::move(handler); }
  void on_loss(LossHandler handler) { on_loss_ = std::move(handler); }
  const std::vector<std::string>& endpoints() const { return socket_->endpoints(); }

  // false: it could not be sent; the peer is marked and told everything again when it speaks next.
  bool send(Peer& peer, const protocol::Header& header);

 private:
  ControlChannel(transport::EventLoop& loop, Peers& peers) : loop_(loop), peers_(peers) {}
  void drain();
  void receive();
  void hear(const transport::Received& received);
  void notice_losses();

  transport::EventLoop& loop_;
  Peers& peers_;
  std::unique_ptr<transport::RouterSocket> socket_;
  transport::EventLoop::WatchId watch_ = 0, losses_ = 0;
  MessageHandler on_message_;
  LossHandler on_loss_;
};

}  // namespace pounce::daemon
