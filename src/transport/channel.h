// One connection from a client to a worker, whatever it goes over: whole messages, in order, until it is lost. What is
// sent may be on its way only after flush(). Thread: the one that owns the loop or leader token.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/frame.h"

namespace pounce::transport {

// kRefused: the peer does not admit our key, or its key is not the expected one.
enum class Link : std::uint8_t { kConnected, kDisconnected, kRefused };
enum class Sent : std::uint8_t { kYes, kFull, kNoSuchPeer };

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  virtual std::optional<Message> receive() = 0;  // non-blocking
  virtual Sent send(Message& frames) = 0;        // non-blocking; kYes or kFull (kFull also while not yet connected)
  virtual void flush() {}
  virtual std::optional<Link> link_event() = 0;  // non-blocking
  virtual bool ready(bool to_send) = 0;          // there is something to receive or, with to_send, room to send

  // For poll(2). If there is a monitor, it is readable when link_event() has something; without one the caller checks
  // each time.
  virtual int fd() const = 0;
  virtual int monitor_fd() const { return -1; }
  virtual bool unsent() const { return false; }  // poll its descriptor for room too
  // Its descriptors are edge-triggered: poll them only after ready() returned false.
  virtual bool tells_changes_only() const { return false; }
  virtual bool reconnects() const { return false; }     // by itself after a loss
  virtual bool passes_memory() const { return false; }  // frames may be Frame::share()
  // It gathers small messages until flush(), so packing them gains nothing.
  virtual bool gathers() const { return false; }
};

// What to poll of a channel: plain descriptors, since asking ZeroMQ about each socket costs several system calls each
// time. Of a ZeroMQ socket they tell of changes only, and a send may swallow one: then they are stale until the
// channel has been pumped.
struct Descriptors {
  Descriptors() = default;
  explicit Descriptors(const Channel* channel) {
    if (channel == nullptr) return;
    socket = channel->fd();
    monitor = channel->monitor_fd();
    stale = fresh = true;  // nothing has been checked yet
  }

  int socket = -1, monitor = -1;      // poll(2) ignores -1
  int bulk = -1;                      // the bulk lane's: readable when the lane has events
  bool stale = false, fresh = false;  // fresh: the monitor reports changes only after a first check
  bool unsent = false;                // the socket is polled for room too
};

}  // namespace pounce::transport
