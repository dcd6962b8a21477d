// Waiting for sockets, descriptors and timers. EventLoop is the daemon's and the supervisor's: one thread that owns
// all state; PollSet and Spin are what engines under a leader token wait with. Thread: the owner's.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace pounce::transport {

// poll(2) that looks again and again for some microseconds before it sleeps, while calls follow each other: to be
// woken costs more than the call (docs/performance.md). Only where there is a processor for each end, and never for
// long: where looking was in vain several times in a row, it sleeps at once until something comes soon after the last
// again.
class Spin {
 public:
  static constexpr std::chrono::microseconds kLongest{150};  // twice the wake-up time of a virtual machine
  static constexpr int kMostInVain = 8;

  // As ppoll without a signal mask.
  int poll(pollfd* items, std::size_t count, const timespec& limit);
  std::uint64_t looks() const { return looks_; }  // polls made while spinning so far

 private:
  int look(pollfd* items, std::size_t count, TimePoint until);

  bool hot_ = false;
  int in_vain_ = 0;
  std::uint64_t looks_ = 0;
};

// Polls ZeroMQ sockets and plain descriptors, without ZeroMQ's types.
class PollSet {
 public:
  // kSpins: may poll for some microseconds before it sleeps (event_loop.h).
  enum class Wait : std::uint8_t { kSleeps, kSpins };
  explicit PollSet(Wait how = Wait::kSleeps);
  ~PollSet();
  void clear();
  std::size_t add_socket(void* handle, bool want_write = false);  // returns the index to ask about
  std::size_t add_fd(int fd, bool want_write = false);
  // Waits until something is ready, a signal arrives, or `until`. Returns false on time-out or signal.
  bool wait(TimePoint until);
  // For a ZeroMQ socket this is a hint; receive() decides. Drain the socket, for a change is reported once.
  bool readable(std::size_t index) const;
  bool writable(std::size_t index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Callbacks may add and remove watches and timers. No exception may leave a callback. Thread: loop.
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
