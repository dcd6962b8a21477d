#include "pounced/net/endpoint.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"
#include "identity/proof.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/file.h"

namespace pounce::daemon {
namespace {

// The kernel accepts connections for a stopped daemon too. That is right: the daemon exists, and a second one would
// be worse.
bool accepts(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  if (!endpoint.starts_with(kIpc)) return false;
  const std::string path = endpoint.substr(kIpc.size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Seals with what the workers of that folder's instance have known since their start.
Result<std::string> seal(const Folders& folders, const std::string& statement, const protocol::EndpointFile& endpoint) {
  if (endpoint.proof == "munge") return identity::munge_seal(statement, endpoint.munge_socket, ::geteuid());
  const auto key = identity::read_key_file(folders.key_file());
  if (!key) return failure(key.error());
  return identity::key_seal(statement, *key);
}

}  // namespace

// Without a seal the file still serves clients, and workers that know this daemon already.
Result<void> publish_endpoint(const Folders& folders, const protocol::EndpointFile& endpoint) {
  const std::string statement = protocol::encode_endpoint_file(endpoint);
  const auto sealed = seal(folders, statement, endpoint);
  if (!sealed) spdlog::warn("{} has no seal: {}", folders.endpoint(), sealed.error().text);
  return replace_file(folders.endpoint(), statement + "\n" + sealed.value_or("") + "\n");
}

void withdraw_endpoint(const std::string& path, const protocol::EndpointFile& endpoint) {
  const auto found = protocol::decode_endpoint_file(read_own_file(path).value_or(""));
  if (found && found->key == endpoint.key) ::unlink(path.c_str());
}

std::optional<protocol::EndpointFile> live_endpoint(const Folders& folders) {
  const auto owner = StartLock::holder(folders.lock());
  if (!owner) return std::nullopt;
  const auto text = read_own_file(folders.endpoint());
  if (!text) return std::nullopt;
  const auto endpoint = protocol::decode_endpoint_file(*text);
  if (!endpoint || endpoint->pid != owner->pid || endpoint->handshake.empty()) return std::nullopt;
  return accepts(endpoint->handshake.front()) ? std::optional(*endpoint) : std::nullopt;
}

}  // namespace pounce::daemon
