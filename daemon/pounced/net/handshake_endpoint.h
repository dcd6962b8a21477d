// The handshake endpoint's socket: anybody may connect and say one HELLO; who proves to be this user is admitted to the
// control channel. The Authenticator decides, the ProofChecker's thread verifies. libzmq cannot drop one peer, so the
// socket is closed and opened again a while after somebody came: idle connections go, nobody else is hurt (a HELLO is
// repeated). Thread: loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/ids.h"
#include "pounce/result.h"
#include "pounced/net/authenticator.h"
#include "pounced/net/peers.h"
#include "pounced/net/proof_checker.h"
#include "pounced/net/token_bucket.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

struct HandshakeEndpointPlan {
  std::vector<std::string> endpoints;       // to bind
  std::vector<std::string> control_endpoints;  // as bound: ipc first
  InstanceId instance;
  std::uint32_t heartbeat_ms = 0;
  unsigned uid = 0;
};

class HandshakeEndpoint {
 public:
  static constexpr char kDomain[] = "handshake";
  static constexpr std::chrono::seconds kRecycle{60};  // after the first handshake since the last time
  static constexpr int kMostVisits = 512;              // handshakes; then it is recycled as soon as those are served
  static constexpr std::chrono::seconds kServe{1};

  static Result<std::unique_ptr<HandshakeEndpoint>> open(transport::EventLoop& loop, transport::Context& context,
                                            const KeyPair& keys, HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers,
                                            ProofChecker& checker);
  ~HandshakeEndpoint();

  const std::vector<std::string>& endpoints() const { return socket_->endpoints(); }

 private:
  HandshakeEndpoint(transport::EventLoop& loop, HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers, ProofChecker& checker)
      : loop_(loop), plan_(std::move(plan)), authenticator_(authenticator), peers_(peers), checker_(checker) {}

  bool let_handshake(const transport::ZapQuestion& question);
  void drain();
  void hear(const transport::Received& received);
  void check(const std::string& route, bool local, ProofToCheck question);
  void welcome(const std::string& route, bool local, Peer peer);
  void refuse(const std::string& route, const Error& error);
  void send(const std::string& route, const protocol::Header& header);
  void watch();
  void recycle();

  transport::EventLoop& loop_;
  const HandshakeEndpointPlan plan_;
  Authenticator authenticator_;
  Peers& peers_;
  ProofChecker& checker_;
  std::unique_ptr<transport::RouterSocket> socket_;
  transport::EventLoop::WatchId watch_ = 0, recycle_timer_ = 0;
  int visits_ = 0;  // handshakes since the last recycling
  TokenBucket lines_{1, 10};  // anybody who reaches the port could fill the log
  std::size_t unsaid_ = 0;    // refusals since the last line
};

}  // namespace pounce::daemon
