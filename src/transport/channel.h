// One connection from a client to a worker over any transport. It carries whole messages in order until it is lost. A
// sent message may leave only after flush(). Thread: the one that owns the loop or leader token.
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
  virtual bool unsent() const { return false; }          // poll its descriptor for room too
  // Its descriptors are edge-triggered: poll them only after ready() returned false.
  virtual bool tells_changes_only() const { return false; }
  virtual bool reconnects() const { return false; }      // by itself after a loss
  virtual bool passes_memory() const { return false; }   // frames may be Frame::share()
  // It gathers small messages until flush(), so packing them gains nothing.
  virtual bool gathers() const { return false; }
};

}  // namespace pounce::transport
