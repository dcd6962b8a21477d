// Whole messages as a stream of bytes, and back: the number of frames (4 bytes), the size of each (8 bytes each), then their
// bytes; little endian (docs/protocol.md). Neither side copies a large frame: the writer tells where the next bytes lie, the
// reader where the next ones belong. Knows nothing of TLS. Thread: one per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/result.h"
#include "transport/frame.h"

namespace pounce::tls {

using transport::Frame;
using transport::Message;

class MessageWriter {
 public:
  void add(Message frames);
  bool empty() const { return waiting_.empty(); }
  std::size_t bytes() const { return bytes_; }  // that wait
  std::span<const std::byte> next() const;      // of the first that waits; never empty
  void took(std::size_t count);                 // so many of next() are out; a frame whose last byte went is let go

 private:
  struct Waiting {
    std::string prefix;
    Message frames;
  };

  std::deque<Waiting> waiting_;
  std::size_t piece_ = 0, offset_ = 0;  // of the first: 0 is the prefix, then its frames
  std::size_t bytes_ = 0;
};

// Memory that a frame goes to; `keeps` holds it until the frame, or the connection that was cut in its middle, is gone.
struct Place {
  std::span<std::byte> bytes;
  std::shared_ptr<void> keeps;
};

// Asked once for each frame but the first, when its turn comes: `header` is the first frame. Without a place of exactly `size`
// bytes the frame gets memory of its own. What lies there means nothing before the message has come whole.
using Placer = std::function<Place(std::string_view header, std::size_t frame, std::size_t size)>;

class MessageReader {
 public:
  MessageReader(std::size_t max_frames, std::size_t max_frame_bytes) : max_frames_(max_frames), max_frame_bytes_(max_frame_bytes) {}

  void place_with(Placer placer) { placer_ = std::move(placer); }
  std::span<std::byte> wanted();             // where the next bytes of the stream belong; never empty
  Result<void> took(std::size_t count);      // so many were put there; kProtocol, for ever: a bound is broken
  std::optional<Message> message();          // once for each that is whole; ask after each took()
  bool within() const { return phase_ != Phase::kCount || filled_ > 0; }  // a message has begun and is not whole

 private:
  enum class Phase { kCount, kSizes, kFrames, kWhole };
  Result<void> read_count();
  Result<void> read_sizes();
  void begin_frame();  // the next one that is not empty, or the end
  Frame own_frame(std::size_t size);

  const std::size_t max_frames_, max_frame_bytes_;
  Placer placer_;
  Phase phase_ = Phase::kCount;
  std::size_t filled_ = 0;  // of what wanted() was, from its beginning
  std::vector<std::byte> prefix_ = std::vector<std::byte>(4);
  std::vector<std::uint64_t> sizes_;
  std::span<std::byte> place_;  // of the frame that comes in
  Message frames_;              // the last one is under way
};

}  // namespace pounce::tls
