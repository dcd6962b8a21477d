// Unused blocks, kept for the next objects: writing fresh pages costs several times as much (docs/gotchas.md L1).
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/memory_block.h"
#include "pounce/result.h"

namespace pounce::memory {

class BlockPool {
 public:
  using Fits = std::function<Result<void>(std::uint64_t size)>;  // whether so much more may be allocated
  explicit BlockPool(std::size_t keep_bytes, Fits fits = {}) : shelf_(std::make_shared<Shelf>(keep_bytes)), fits_(std::move(fits)) {}

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

}  // namespace pounce::memory
