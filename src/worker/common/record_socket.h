// The socketpair between supervisor and interpreter: whole headers, length-prefixed, neither side ever blocks on it.
// Thread: the owner's (the supervisor's loop; the interpreter's leader token holder).
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "protocol/messages.h"
#include "protocol/stream_framing.h"

namespace pounce::worker {

class RecordSocket {
 public:
  explicit RecordSocket(UniqueFd fd);

  int fd() const { return fd_.get(); }
  bool open() const { return open_; }
  // Reads what has arrived; next() then gives the whole messages. Closes when the peer hung up or sent an invalid
  // message.
  void fill();
  std::optional<protocol::Header> next();
  void send(const protocol::Header& header);
  bool unsent() const { return !outgoing_.empty(); }
  void flush();

 private:
  UniqueFd fd_;  // open until destruction, so that the number is not polled after it was reused
  bool open_ = true;
  protocol::RecordReader reader_;
  std::string outgoing_;
};

}  // namespace pounce::worker
