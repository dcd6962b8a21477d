// Blocks that are used again, and several pieces of memory packed into one of them. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
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

// An arena of blocks that are kept warm for the next use: writing fresh pages costs several times as much
// (docs/gotchas.md L1). A block that another process has is used again when that process has let go of it. Kept blocks
// are given back after a minute without use, and as soon as less than their size is free beside them.
class BlockPool {
 public:
  using Fits = std::function<Result<void>(std::uint64_t size)>;  // whether so much more may be allocated
  using Free = std::function<std::uint64_t()>;                   // memory that is free now, in bytes
  explicit BlockPool(std::size_t keep_bytes, Fits fits = {}, Free free = {})
      : shelf_(std::make_shared<Shelf>(keep_bytes)), fits_(std::move(fits)), free_(std::move(free)) {}

  // Not cleared: the receiver overwrites every byte it announced.
  Result<std::shared_ptr<MemoryBlock>> take(std::size_t size);
  std::size_t kept_bytes() const { return shelf_->kept_bytes(); }  // includes what other processes still have

  void give_back(TimePoint now);    // what is due
  TimePoint next_deadline() const;  // when something may be due; max(): nothing is kept
  void give_back_all() { shelf_->clear(); }

 private:
  // Outlives the pool while blocks are in use. A block comes back here from the thread that dropped it last.
  class Shelf {
   public:
    explicit Shelf(std::size_t keep_bytes) : keep_bytes_(keep_bytes) {}
    std::shared_ptr<MemoryBlock> best_fit(std::size_t size);
    void put_back(std::shared_ptr<MemoryBlock> block);
    void give_back(TimePoint now, const Free& free);
    std::optional<TimePoint> looked_at() const;
    void clear();
    std::size_t kept_bytes() const;

   private:
    struct Kept {
      std::shared_ptr<MemoryBlock> block;
      TimePoint since;  // unused by anyone, as far as is known
      bool is_free;     // else another process had it when we last looked
      bool check() { return is_free = is_free || block->ours_alone(); }
    };
    void make_room(std::size_t size);

    const std::size_t keep_bytes_;
    mutable std::mutex mutex_;  // guards those below; only the kernel is called under it
    std::vector<Kept> blocks_;  // the one that came back last is the last
    std::size_t kept_ = 0;
    TimePoint looked_at_{};
  };
  Result<std::unique_ptr<MemoryBlock>> make(std::size_t size);
  std::shared_ptr<MemoryBlock> own(std::shared_ptr<MemoryBlock> block);

  std::shared_ptr<Shelf> shelf_;
  Fits fits_;
  Free free_;
};

// For a piece of a buffer that begins at `begin` in the block: where it lies, mapped. Empty: it is written with
// MemoryBlock::write().
using PlaceAt = std::function<WritableBytes(std::uint64_t offset, std::uint64_t size)>;
PlaceAt places_in(const std::shared_ptr<MemoryBlock>& block, std::uint64_t begin);

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
