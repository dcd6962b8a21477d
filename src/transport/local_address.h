// Where a worker listens for its own user's processes on its machine: an abstract Unix address made from its public
// key. Only clients that were introduced to the worker know it, and it cannot be reached from another network
// namespace. The kernel tells the peer's user. Thread: any.
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
bool of_our_user(int fd);  // whether the connected or listening process is our user's

}  // namespace pounce::transport
