// One frame of a message, without ZeroMQ's types: owned bytes that are sent or received without a copy, or shared
// memory. Thread: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "memory/memory_block.h"

namespace pounce::transport {

class Frame {
 public:
  Frame();                                                   // empty
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

}  // namespace pounce::transport
