// Decides about one HELLO of the handshake endpoint, without a socket: refuse it, admit the peer, or have the proof
// checked first. The order is fixed: count frames, check sizes, parse, compare, then prove. Thread: loop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "identity/proof.h"
#include "pounce/error.h"
#include "pounced/net/peers.h"
#include "pounced/net/token_bucket.h"
#include "protocol/messages.h"

namespace pounce::daemon {

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

}  // namespace pounce::daemon
