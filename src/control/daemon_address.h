// Where a daemon is and by which key it is known, from its endpoint file. Values. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "protocol/endpoint_file.h"
#include "protocol/messages.h"

namespace pounce::control {

enum class Reach : std::uint8_t {
  kThisMachine,  // the daemon's Unix sockets: the kernel tells it our uid, and that is the proof
  kNetwork       // any node: TCP, with a proof of our own
};

struct DaemonAddress {
  PublicKey key{};
  std::string endpoint{};  // of the handshake
  protocol::Proof proof = protocol::Proof::kPeer;
  std::string munge_socket{}, key_file{};
};

// nullopt: it names no key, or no endpoint within this reach.
std::optional<DaemonAddress> address_of(const protocol::EndpointFile& file, Reach reach);

std::string endpoint_within(Reach reach, const std::vector<std::string>& endpoints);  // "": none

}  // namespace pounce::control
