// Where a worker listens for its own user's processes on its machine: an abstract Unix address made from its public key, so
// whoever was introduced to the worker knows it, and whoever shares no network namespace with it finds nobody there. Who is
// at the other end the kernel says. Thread: any.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/curve_key.h"

namespace pounce::transport {

struct LocalAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

LocalAddress local_address(const PublicKey& worker);
bool of_our_user(int fd);  // the process that connected, or that listened

}  // namespace pounce::transport
