// What to poll of a channel: plain descriptors, since asking ZeroMQ about each socket costs several system calls each
// time. Of a ZeroMQ socket they tell of changes only, and a send may swallow one: then they are stale until the channel has
// been pumped. Thread: the channel's.
#pragma once

#include "transport/channel.h"

namespace pounce::transport {

struct Descriptors {
  Descriptors() = default;
  explicit Descriptors(const Channel* channel) {
    if (channel == nullptr) return;
    socket = channel->fd();
    monitor = channel->monitor_fd();
    stale = fresh = true;  // nothing of it has been looked at
  }

  int socket = -1, monitor = -1;  // poll(2) ignores -1
  int bulk = -1;                  // of its bulk lane: readable when that has news
  bool stale = false, fresh = false;  // fresh: the monitor too has to be looked at before it tells of changes
  bool unsent = false;                // the socket is polled for room too
};

}  // namespace pounce::transport
