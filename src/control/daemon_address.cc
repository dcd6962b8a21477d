#include "control/daemon_address.h"

#include <algorithm>

#include "transport/zmq_context.h"

namespace pounce::control {

std::string endpoint_within(Reach reach, const std::vector<std::string>& endpoints) {
  const char* const scheme = reach == Reach::kThisMachine ? "ipc://" : "tcp://";
  const auto found = std::ranges::find_if(endpoints, [scheme](const std::string& at) { return at.starts_with(scheme); });
  return found == endpoints.end() ? std::string() : *found;
}

std::optional<DaemonAddress> address_of(const protocol::EndpointFile& file, Reach reach) {
  const auto key = transport::from_z85(file.key);
  DaemonAddress address{.endpoint = endpoint_within(reach, file.handshake)};
  if (!key || address.endpoint.empty()) return std::nullopt;
  address.key = *key;
  if (reach == Reach::kThisMachine) return address;
  address.proof = file.proof == "key_file" ? protocol::Proof::kKeyFile : protocol::Proof::kMunge;
  address.munge_socket = file.munge_socket;
  address.key_file = file.key_file;
  return address;
}

}  // namespace pounce::control
