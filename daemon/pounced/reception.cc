#include "pounced/reception.h"

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "transport/context.h"

namespace pounce::daemon {
namespace {

using protocol::Hello;
using protocol::Proof;
using protocol::Role;

Error refusal(ErrorCode code, std::string text) { return {code, std::move(text), {}, {}}; }

std::optional<Guest> guest_of(const Hello& hello, const PublicKey& key) {
  Guest guest;
  guest.role = hello.role;
  guest.key = key;
  const auto session = SessionId::from_hex(hello.session);
  const auto lease = LeaseId::from_hex(hello.lease);
  if (hello.role == Role::kClient ? !session || session->empty() : !lease || lease->empty()) return std::nullopt;
  if (hello.role == Role::kClient)
    guest.session = *session;
  else
    guest.lease = *lease;
  return guest;
}

}  // namespace

Verdict Reception::judge(const Knock& knock, TimePoint now) {
  if (knock.frames.size() != 2) return refusal(ErrorCode::kProtocol, "a hello has two frames");
  std::size_t size = 0;
  for (const std::string_view frame : knock.frames) size += frame.size();
  if (size > protocol::kDoorMessageBytes) return refusal(ErrorCode::kTooLarge, "a hello has at most 8 KiB");
  if (!tokens_.take(now))
    return refusal(ErrorCode::kDaemonUnavailable, "too many hellos at once: try again in a second");
  const auto header = protocol::decode(knock.frames[0], protocol::kDoorMessageBytes);
  if (!header) return header.error();
  const auto* hello = std::get_if<Hello>(&*header);
  if (hello == nullptr) return refusal(ErrorCode::kProtocol, "the door understands hello and nothing else");
  return judge_hello(knock, *hello);
}

Verdict Reception::judge_hello(const Knock& knock, const Hello& hello) {
  if (transport::from_z85(hello.key) != knock.peer)
    return refusal(ErrorCode::kNotAuthenticated, "the key in the hello is not the key of the connection");
  auto guest = guest_of(hello, knock.peer);
  if (!guest) return refusal(ErrorCode::kProtocol, "a client names its session, a worker its lease");
  if (hello.proof == Proof::kPeer) {
    if (knock.uid != uid_) return refusal(ErrorCode::kNotAuthenticated, "the kernel does not vouch for this peer");
    return *guest;
  }
  if (hello.proof != proof_) return refusal(ErrorCode::kNotAuthenticated, "this daemon asks for another kind of proof");
  const bool client = hello.role == Role::kClient;
  identity::Claim claim{own_, knock.peer, client ? "client" : "worker", client ? hello.session : hello.lease};
  return ProofToCheck{std::move(*guest), std::move(claim), std::string(knock.frames[1])};
}

}  // namespace pounce::daemon
