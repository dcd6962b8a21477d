// The control channel's socket: only keys that the handshake endpoint admitted may even connect. Thread: loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/result.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/peers.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

class ControlSocket {
 public:
  static constexpr char kDomain[] = "control";

  // Passes messages to the channel, which outlives the socket.
  static Result<std::unique_ptr<ControlSocket>> open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                                     const std::vector<std::string>& endpoints, std::chrono::milliseconds heartbeat,
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
