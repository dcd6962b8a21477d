// Messages over a connected Unix socket: bytes as they are, memory as its descriptor (docs/protocol.md, "The local
// channel"). Small messages gather until flush(); large ones are sent from their own memory and received straight
// into theirs. Thread: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "transport/channel.h"

namespace pounce::transport {

class LocalStream {
 public:
  LocalStream(UniqueFd fd, std::size_t max_frame_bytes);
  LocalStream(LocalStream&&) = default;
  ~LocalStream();

  // The next whole message; nullopt: poll before the next call. A framing error closes the stream.
  std::optional<Message> receive();
  Sent send(Message& frames);  // kNoSuchPeer: it is closed
  void flush();

  bool open() const { return open_; }
  bool unsent() const { return open_ && !deaf_ && (!small_.empty() || large_); }
  bool takes_more();
  int fd() const { return fd_.get(); }
  void close();
  TimePoint stuck_since() const { return stuck_since_; }  // the peer reads nothing since then; max(): it reads

 private:
  struct Incoming {
    std::vector<std::uint64_t> sizes;  // as announced, with the mark of memory
    Message frames;
    std::size_t filled = 0;  // bytes of the last frame
    bool announced = false;
  };
  struct Outgoing {
    std::string head;
    Message frames;
    std::size_t sent = 0;  // bytes of head and frames together
  };

  bool parse();
  bool parse_sizes();
  bool begin_frame();
  bool fill_frame();
  bool whole() const;
  bool read();
  std::size_t missing() const;
  std::optional<Message> broken();
  bool write_small();
  bool write_large();
  bool took(ssize_t wrote);
  void drop_unsent();

  UniqueFd fd_;
  const std::size_t max_frame_bytes_;
  bool open_ = true;
  bool deaf_ = false;  // the other end reads no more; we still read what it sent before

  std::vector<char> input_;  // read and not yet parsed: [begin_, end_)
  std::size_t begin_ = 0, end_ = 0;
  std::deque<UniqueFd> descriptors_;  // in the order of the frames that they belong to
  Incoming incoming_;
  bool drained_ = false;  // the last read took all there was

  std::string small_;
  std::size_t small_sent_ = 0;
  std::optional<Outgoing> large_;
  TimePoint stuck_since_ = TimePoint::max();
};

}  // namespace pounce::transport
