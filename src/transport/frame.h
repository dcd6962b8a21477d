// One frame of a message, without ZeroMQ's types: owned bytes that are sent or received without a copy, or memory that
// is handed over; and several small messages as one. Thread: one at a time for each frame.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memory/memory_block.h"

namespace pounce::transport {

class Frame {
 public:
  Frame();  // empty
  static Frame copy(std::string_view bytes);
  // Borrows memory that stays unchanged until `release` is called, exactly once, from any thread (libzmq's I/O
  // thread included): `release` must not block and must not take the GIL.
  static Frame borrow(std::span<const std::byte> bytes, std::function<void()> release);

  // Passes the memory block itself instead of bytes: only over a channel that passes_memory().
  static Frame share(std::shared_ptr<memory::MemoryBlock> block);
  const std::shared_ptr<memory::MemoryBlock>& block() const;  // null: this frame has bytes
  static Frame of_size(std::size_t size);                     // to be written

  Frame(Frame&&) noexcept;
  Frame& operator=(Frame&&) noexcept;
  ~Frame();

  std::span<const std::byte> bytes() const;
  std::span<std::byte> writable();  // for a received frame, whose memory only we hold
  std::string_view text() const;
  std::size_t size() const { return bytes().size(); }

  struct Impl;  // holds zmq::message_t
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

using Message = std::vector<Frame>;

// ZeroMQ encrypts, queues and wakes for each frame by itself: of many short calls that is most of what they cost. The
// bytes of packed messages are those of docs/protocol.md, "Several in one".
inline constexpr std::size_t kPackedMost = 64;          // messages
inline constexpr std::size_t kPackedBytes = 64 * 1024;  // of all messages together
inline constexpr std::size_t kPackedFrames = 16;        // of one message

// How many of the first messages may be packed; 1 if the first has to go alone.
std::size_t packable(const std::deque<Message>& messages);
// Packs the first `count` messages, which stay unchanged.
Frame pack(const std::deque<Message>& messages, std::size_t count);
// Exactly `count` messages, each with at least one frame; nullopt: the bytes are malformed.
std::optional<std::vector<Message>> unpack(std::string_view bytes, std::size_t count);

}  // namespace pounce::transport
