// zmq_poll over ZeroMQ sockets and plain descriptors, without ZeroMQ's types. Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"

namespace pounce::transport {

class PollSet {
 public:
  // kSpins: may poll for some microseconds before it sleeps (spin.h).
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

}  // namespace pounce::transport
