// What to poll of a connection: plain descriptors, since asking ZeroMQ about each socket costs several system calls each
// time. They tell of changes only, and a send may swallow one: then they are stale until the connection has been pumped.
// Thread: the connection's.
#pragma once

#include "transport/dealer_socket.h"

namespace pounce::transport {

struct Descriptors {
  Descriptors() = default;
  explicit Descriptors(const DealerSocket* connection) {
    if (connection == nullptr) return;
    socket = connection->fd();
    monitor = connection->monitor_fd();
    stale = fresh = true;  // nothing of it has been looked at
  }

  int socket = -1, monitor = -1;  // poll(2) ignores -1
  bool stale = false, fresh = false;  // fresh: the monitor too has to be looked at before it tells of changes
};

}  // namespace pounce::transport
