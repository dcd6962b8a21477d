// One connection from a client to a worker, whatever it goes over: whole messages, in order, until it is lost. What is sent
// may be on its way only after flush(). Thread: the one that owns the loop or leader token.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/frame.h"

namespace pounce::transport {

enum class Link : std::uint8_t { kConnected, kDisconnected, kRefused };  // kRefused: our key is not admitted, or theirs is not it
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
  virtual bool ready(bool to_send) = 0;          // something to receive, or, if asked, room to send

  // For poll(2). A monitor that is there is readable when link_event() has something; without one it is asked each time.
  virtual int fd() const = 0;
  virtual int monitor_fd() const { return -1; }
  virtual bool unsent() const { return false; }          // poll its descriptor for room too
  virtual bool tells_changes_only() const { return false; }  // of its descriptors: poll them only after ready() has said no
  virtual bool reconnects() const { return false; }      // by itself, after it was lost
  virtual bool passes_memory() const { return false; }   // frames may be Frame::share()
  virtual bool gathers() const { return false; }         // small messages, until flush(): to pack them gains nothing
};

}  // namespace pounce::transport
