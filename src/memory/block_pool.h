// Blocks that are used again, and several pieces of memory packed into one of them. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "memory/memory_block.h"
#include "pounce/error.h"

namespace pounce::memory {

// How buffers lie behind each other in one piece of memory. Pure.
inline constexpr std::uint64_t kAlign = 64;  // a cache line, as numpy and torch prefer

constexpr std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlign - 1) / kAlign * kAlign; }

// Whether buffers of these sizes and places, as a peer announced them, lie within `room` bytes.
inline bool lie_within(std::uint64_t room, const std::vector<std::uint64_t>& sizes,
                       const std::vector<std::uint64_t>& places) {
  if (places.size() != sizes.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > room || places[i] > room - sizes[i]) return false;
  return true;
}

// Unused blocks kept for the next use: writing fresh pages costs several times as much (docs/gotchas.md L1).
class BlockPool {
 public:
  using Fits = std::function<Result<void>(std::uint64_t size)>;  // whether so much more may be allocated
  explicit BlockPool(std::size_t keep_bytes, Fits fits = {})
      : shelf_(std::make_shared<Shelf>(keep_bytes)), fits_(std::move(fits)) {}

  // Not cleared: the receiver overwrites every byte it announced.
  Result<std::shared_ptr<MemoryBlock>> take(std::size_t size);
  // Takes over a block that another process gave away.
  std::shared_ptr<MemoryBlock> own(std::shared_ptr<MemoryBlock> block);
  std::size_t kept_bytes() const { return shelf_->kept_bytes(); }

 private:
  // Outlives the pool while blocks are in use. A block comes back here from the thread that dropped it last.
  class Shelf {
   public:
    explicit Shelf(std::size_t keep_bytes) : keep_bytes_(keep_bytes) {}
    std::shared_ptr<MemoryBlock> best_fit(std::size_t size);
    void put_back(std::shared_ptr<MemoryBlock> block);
    void clear();
    std::size_t kept_bytes() const;

   private:
    const std::size_t keep_bytes_;
    mutable std::mutex mutex_;  // guards the two below; only the kernel is called under it
    std::vector<std::shared_ptr<MemoryBlock>> blocks_;
    std::size_t kept_ = 0;
  };
  Result<std::unique_ptr<MemoryBlock>> make(std::size_t size);

  std::shared_ptr<Shelf> shelf_;
  Fits fits_;
};

// Several pieces of memory copied behind each other into one block, some at a time so that the copying thread stays
// responsive. Thread: any, one at a time.
class Packing {
 public:
  // kOutOfMemory: there is no room for them. The sum of the pieces must be at least 1 byte.
  static Result<Packing> begin(BlockPool& pool, std::vector<std::span<const std::byte>> pieces);

  Result<void> step();  // copies for some milliseconds
  bool whole() const { return piece_ == pieces_.size(); }
  const std::vector<std::uint64_t>& places() const { return places_; }  // of each piece in the block
  const std::shared_ptr<MemoryBlock>& block() const { return block_; }

 private:
  Packing(std::vector<std::span<const std::byte>> pieces, std::vector<std::uint64_t> places,
          std::shared_ptr<MemoryBlock> block);
  void skip_copied();

  std::vector<std::span<const std::byte>> pieces_;
  std::vector<std::uint64_t> places_;
  std::shared_ptr<MemoryBlock> block_;
  std::size_t piece_ = 0, copied_ = 0;
};

}  // namespace pounce::memory
