#include "transport/local_address.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "transport/zmq_context.h"  // to_z85

namespace pounce::transport {

LocalAddress local_address(const PublicKey& worker) {
  const std::string name = "pounce-worker/" + to_z85(worker);
  LocalAddress local;
  local.address.sun_family = AF_UNIX;
  std::memcpy(local.address.sun_path + 1, name.data(), name.size());  // behind a zero: no file
  local.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return local;
}

bool of_our_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace pounce::transport
