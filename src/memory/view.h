// A block mapped into this process. A private view is one use by one task: writable, copy-on-write, isolated from
// every other use, without a copy. A shared view is the block itself, for the one process that owns it. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "memory/memory_block.h"
#include "pounce/result.h"

namespace pounce::memory {

enum class Sharing : std::uint8_t { kPrivate, kShared };

class View {
 public:
  static Result<std::shared_ptr<View>> map(std::shared_ptr<MemoryBlock> block, std::size_t size, Sharing sharing);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::span<std::byte> bytes() const { return {base_, size_}; }
  const std::shared_ptr<MemoryBlock>& block() const { return block_; }
  // Closes its descriptor: the bytes stay, and the block has no owner any more.
  void let_go_of_block() { block_.reset(); }

 private:
  View(std::shared_ptr<MemoryBlock> block, std::byte* base, std::size_t size)
      : block_(std::move(block)), base_(base), size_(size) {}
  std::shared_ptr<MemoryBlock> block_;  // so that the block is not reused while the view exists
  std::byte* base_;
  std::size_t size_;
};

}  // namespace pounce::memory
