// The event loop of the daemon and the supervisor: one thread owns all state, sockets, descriptors and timers.
// Callbacks may add and remove watches and timers. No exception may leave a callback. Thread: loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace pounce::transport {

class EventLoop {
 public:
  using Callback = std::function<void()>;
  using WatchId = std::uint64_t;

  EventLoop();
  ~EventLoop();

  // Calls `ready` when the ZeroMQ socket may have something to receive. Drain the socket: the edge is not repeated.
  WatchId watch_socket(void* handle, Callback ready);
  WatchId watch_fd(int fd, Callback readable);
  void unwatch(WatchId id);

  WatchId at(TimePoint when, Callback due);  // once; unwatch cancels
  void run();                                // until stop()
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::transport
