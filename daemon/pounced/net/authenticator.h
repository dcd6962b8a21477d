// What the handshake endpoint decides about one HELLO, without a socket: refuse, admit, or have the proof checked first.
// The order is fixed: count frames, check sizes, then parse, then compare, then prove. Thread: loop.
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

// The proof is to be verified on another thread; then the peer comes in or not.
struct ProofToCheck {
  Peer peer;
  identity::Claim claim;
  std::string proof;
};

using Verdict = std::variant<Error, Peer, ProofToCheck>;

class Authenticator {
 public:
  // proof: the one kind that this daemon takes from other hosts (its endpoint file says which).
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
