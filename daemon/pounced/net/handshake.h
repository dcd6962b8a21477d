// The handshake: any peer may connect and say one HELLO; one that proves to be this user is admitted to the control
// channel. The Authenticator decides, the ProofChecker's thread verifies, the HandshakeEndpoint has the sockets.
// Thread: loop, but for the checker's own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "identity/proof.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "pounced/net/bounded_listener.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

// What the endpoint decides about one HELLO, without a socket: refuse, admit, or have the proof checked first. The
// order is fixed: count frames, check sizes, then parse, then compare, then prove.
struct Handshake {
  PublicKey peer;                        // the key that CURVE proved
  std::optional<unsigned> uid;           // on ipc: the kernel's word
  std::vector<std::string_view> frames;  // header, proof
};

// The proof is verified on another thread, and the outcome decides whether the peer is admitted.
struct ProofToCheck {
  Peer peer;
  identity::Claim claim;
  std::string proof;
};

using Verdict = std::variant<Error, Peer, ProofToCheck>;

class Authenticator {
 public:
  // proof: the only kind that this daemon accepts from other hosts; its endpoint file names it.
  Authenticator(PublicKey own, protocol::Proof proof, unsigned uid) : own_(own), proof_(proof), uid_(uid) {}

  Verdict judge(const Handshake& handshake, TimePoint now);

 private:
  Verdict judge_hello(const Handshake& handshake, const protocol::Hello& hello);

  // A flood of valid HELLOs costs each 80 us of munged's time (gotchas M4).
  static constexpr double kHellosPerSecond = 200, kHelloBurst = 400;

  const PublicKey own_;
  const protocol::Proof proof_;
  const unsigned uid_;
  TokenBucket tokens_{kHellosPerSecond, kHelloBurst};
};

// Verifies proofs away from the loop: munged answers over a blocking socket. One thread, a bounded queue; when that is
// full the newest question is turned away (its asker tries again). Answers wake the loop through a descriptor.
class ProofChecker {
 public:
  // Blocking; called on the checker's thread only.
  using Verify = std::function<Result<void>(const identity::Claim& claim, const std::string& proof)>;
  using Done = std::function<void(Result<void>)>;

  static constexpr std::size_t kMostWaiting = 256;

  explicit ProofChecker(Verify verify);
  ~ProofChecker();  // waits for the check at hand; the others are dropped

  // false: too many wait already. `done` is called from on_readable().
  bool check(identity::Claim claim, std::string proof, Done done);
  int fd() const;
  void on_readable();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// It has two sockets: the kernel's word about a peer's user counts at the local one only, since the other's peers come
// through the BoundedListener.
struct HandshakeEndpointPlan {
  std::string local, remote;                   // ipc endpoints to bind: for this machine, and behind the listener
  std::vector<std::string> control_endpoints;  // as bound: ipc first
  InstanceId instance;
  std::uint32_t heartbeat_ms = 0;
  unsigned uid = 0;
};

class HandshakeEndpoint {
 public:
  static constexpr char kDomain[] = "handshake";
  static Result<std::unique_ptr<HandshakeEndpoint>> open(transport::EventLoop& loop, transport::Context& context,
                                                         const KeyPair& keys, HandshakeEndpointPlan plan,
                                                         Authenticator authenticator, Peers& peers,
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

  HandshakeEndpoint(transport::EventLoop& loop, HandshakeEndpointPlan plan, Authenticator authenticator, Peers& peers,
                    ProofChecker& checker)
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
