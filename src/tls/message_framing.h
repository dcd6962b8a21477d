// Turns whole messages into a byte stream and back: the number of frames (4 bytes), the size of each (8 bytes each),
// then their bytes; little endian (docs/protocol.md). Neither side copies a large frame: the writer tells where the
// next bytes lie, the reader where they go. Knows nothing of TLS. Thread: one per object.
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

#include "pounce/error.h"
#include "transport/frame.h"

namespace pounce::tls {

using transport::Frame;
using transport::Message;

class MessageWriter {
 public:
  void add(Message frames);
  bool empty() const { return waiting_.empty(); }
  std::size_t bytes() const { return bytes_; }  // waiting to be sent
  std::span<const std::byte> next() const;      // of the first waiting message; never empty
  void took(std::size_t count);  // `count` bytes of next() were sent; releases a frame after its last byte

 private:
  struct Waiting {
    std::string prefix;
    Message frames;
  };

  std::deque<Waiting> waiting_;
  std::size_t piece_ = 0, offset_ = 0;  // in the first message: 0 is the prefix, then its frames
  std::size_t bytes_ = 0;
};

// The memory that a frame goes to. `keeps` holds it until the frame, or a connection that was cut in its middle, is
// gone.
struct Destination {
  std::span<std::byte> bytes;
  std::shared_ptr<void> keeps;
};

// Called once for each frame but the first, when its turn comes; `header` is the first frame. Unless it returns a
// place of exactly `size` bytes, the frame gets memory of its own. The bytes there are valid only after the whole
// message has come.
using DestinationOf = std::function<Destination(std::string_view header, std::size_t frame, std::size_t size)>;

class MessageReader {
 public:
  MessageReader(std::size_t max_frames, std::size_t max_frame_bytes)
      : max_frames_(max_frames), max_frame_bytes_(max_frame_bytes) {}

  void place_with(DestinationOf placer) { placer_ = std::move(placer); }
  std::span<std::byte> wanted();         // where the next bytes of the stream go; never empty
  Result<void> took(std::size_t count);  // `count` bytes were put there; kProtocol, for good: a bound is broken
  std::optional<Message> message();      // each whole message once; call after each took()
  bool within() const { return phase_ != Phase::kCount || filled_ > 0; }  // inside a message

 private:
  enum class Phase { kCount, kSizes, kFrames, kWhole };
  Result<void> read_count();
  Result<void> read_sizes();
  void begin_frame();  // the next frame that is not empty, or the end
  Frame own_frame(std::size_t size);

  const std::size_t max_frames_, max_frame_bytes_;
  DestinationOf placer_;
  Phase phase_ = Phase::kCount;
  std::size_t filled_ = 0;  // bytes filled of what wanted() returned
  std::vector<std::byte> prefix_ = std::vector<std::byte>(4);
  std::vector<std::uint64_t> sizes_;
  std::span<std::byte> place_;  // the memory of the incoming frame
  Message frames_;              // the last one is incomplete
};

}  // namespace pounce::tls
