// What to poll for a channel: plain descriptors, since querying each ZeroMQ socket costs several system calls each
// time. A ZeroMQ socket's descriptors report changes only, and a send may swallow one: then they are stale until the
// channel has been pumped. Thread: the channel's.
#pragma once

#include "transport/channel.h"

namespace pounce::transport {

struct Descriptors {
  Descriptors() = default;
  explicit Descriptors(const Channel* channel) {
    if (channel == nullptr) return;
    socket = channel->fd();
    monitor = channel->monitor_fd();
    stale = fresh = true;  // nothing has been checked yet
  }

  int socket = -1, monitor = -1;  // poll(2) ignores -1
  int bulk = -1;                  // the bulk lane's: readable when the lane has events
  bool stale = false, fresh = false;  // fresh: the monitor reports changes only after a first check
  bool unsent = false;                // the socket is polled for room too
};

}  // namespace pounce::transport
