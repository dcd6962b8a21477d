// The handshake endpoint. Any peer may connect and say one HELLO; a peer that proves to be this user is admitted to
// the control channel. The Authenticator decides, and the ProofChecker's thread verifies. Of the two sockets only the
// local one trusts the kernel's word about a peer's user, because the other's peers come through the BoundedListener.
// Thread: loop.
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
  std::string local, remote;                // ipc endpoints to bind: for this machine, and behind the listener
  std::vector<std::string> control_endpoints;  // as bound: ipc first
  InstanceId instance;
  std::uint32_t heartbeat_ms = 0;
  unsigned uid = 0;
};

class HandshakeEndpoint {
 public:
  static constexpr char kDomain[] = "handshake";
  static Result<std::unique_ptr<HandshakeEndpoint>> open(transport::EventLoop& loop, transport::Context& context,
                                            const KeyPair& keys, HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers,
                                            ProofChecker& checker);
  ~HandshakeEndpoint();

 private:
  struct Entrance {
    bool local = false;
    std::unique_ptr<transport::RouterSocket> socket{};
    transport::EventLoop::WatchId watch = 0;
  };
  struct Caller {  // the connection that gets the answer
    Entrance& entrance;
    std::string route;
  };

  HandshakeEndpoint(transport::EventLoop& loop, HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers, ProofChecker& checker)
      : loop_(loop), plan_(std::move(plan)), authenticator_(authenticator), peers_(peers), checker_(checker) {}

  Result<void> open(Entrance& entrance, const std::string& endpoint, transport::Context& context, const KeyPair& keys);
  void drain(Entrance& entrance);
  void hear(Entrance& entrance, const transport::Received& received);
  void check(const Caller& caller, ProofToCheck question);
  void welcome(const Caller& caller, Peer peer);
  void refuse(const Caller& caller, const Error& error);
  void send(const Caller& caller, const protocol::Header& header);

  transport::EventLoop& loop_;
  const HandshakeEndpointPlan plan_;
  Authenticator authenticator_;
  Peers& peers_;
  ProofChecker& checker_;
  Entrance local_{true}, remote_{false};
  TokenBucket lines_{1, 10};  // an untrusted peer could fill the log
  std::size_t unsaid_ = 0;    // refusals since the last line
};

}  // namespace pounce::daemon
