#include "pounced/net/authenticator.h"

#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {
namespace {

using protocol::Hello;
using protocol::Proof;
using protocol::Role;

Error refusal(ErrorCode code, std::string text) { return {code, std::move(text), {}, {}}; }

std::optional<Peer> peer_of(const Hello& hello, const PublicKey& key) {
  Peer peer;
  peer.role = hello.role;
  peer.key = key;
  const auto session = SessionId::from_hex(hello.session);
  const auto lease = LeaseId::from_hex(hello.lease);
  if (hello.role == Role::kClient ? !session || session->empty() : !lease || lease->empty()) return std::nullopt;
  if (hello.role == Role::kClient)
    peer.session = *session;
  else
    peer.lease = *lease;
  return peer;
}

}  // namespace

Verdict Authenticator::judge(const Handshake& handshake, TimePoint now) {
  if (handshake.frames.size() != 2) return refusal(ErrorCode::kProtocol, "a hello has two frames");
  std::size_t size = 0;
  for (const std::string_view frame : handshake.frames) size += frame.size();
  if (size > protocol::kHandshakeMessageBytes) return refusal(ErrorCode::kTooLarge, "a hello has at most 8 KiB");
  if (!tokens_.take(now))
    return refusal(ErrorCode::kDaemonUnavailable, "too many hellos at once: try again in a second");
  const auto header = protocol::decode(handshake.frames[0], protocol::kHandshakeMessageBytes);
  if (!header) return header.error();
  const auto* hello = std::get_if<Hello>(&*header);
  if (hello == nullptr) return refusal(ErrorCode::kProtocol, "the handshake endpoint understands hello and nothing else");
  return judge_hello(handshake, *hello);
}

Verdict Authenticator::judge_hello(const Handshake& handshake, const Hello& hello) {
  if (transport::from_z85(hello.key) != handshake.peer)
    return refusal(ErrorCode::kNotAuthenticated, "the key in the hello is not the key of the connection");
  auto peer = peer_of(hello, handshake.peer);
  if (!peer) return refusal(ErrorCode::kProtocol, "a client names its session, a worker its lease");
  if (hello.proof == Proof::kPeer) {
    if (handshake.uid != uid_) return refusal(ErrorCode::kNotAuthenticated, "the kernel does not vouch for this peer");
    return *peer;
  }
  if (hello.proof != proof_) return refusal(ErrorCode::kNotAuthenticated, "this daemon asks for another kind of proof");
  const bool client = hello.role == Role::kClient;
  identity::Claim claim{own_, handshake.peer, client ? "client" : "worker", client ? hello.session : hello.lease};
  return ProofToCheck{std::move(*peer), std::move(claim), std::string(handshake.frames[1])};
}

}  // namespace pounce::daemon
