// Memory for what arrives in bulk: a memfd, written once through a shared mapping while it is received. Each use maps it
// again privately: the user's array is writable, copy-on-write and isolated from every other use, without a copy.
// A block whose last user is gone goes back to its pool with its pages still mapped: receiving into fresh pages costs
// six times as much (gotchas L1). Thread: any; the bytes belong to one receiver until they are whole.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::worker {

class MemoryBlock {
 public:
  static Result<std::unique_ptr<MemoryBlock>> make(std::size_t capacity);
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  std::span<std::byte> bytes() { return {base_, capacity_}; }
  std::size_t capacity() const { return capacity_; }
  int fd() const { return fd_.get(); }

 private:
  MemoryBlock(UniqueFd fd, std::byte* base, std::size_t capacity)
      : fd_(std::move(fd)), base_(base), capacity_(capacity) {}
  UniqueFd fd_;
  std::byte* base_;
  std::size_t capacity_;
};

// One use of a block by one task.
class PrivateView {
 public:
  static Result<std::shared_ptr<PrivateView>> map(std::shared_ptr<MemoryBlock> block, std::size_t size);
  ~PrivateView();
  PrivateView(const PrivateView&) = delete;
  PrivateView& operator=(const PrivateView&) = delete;

  std::span<std::byte> bytes() const { return {base_, size_}; }

 private:
  PrivateView(std::shared_ptr<MemoryBlock> block, std::byte* base, std::size_t size)
      : block_(std::move(block)), base_(base), size_(size) {}
  std::shared_ptr<MemoryBlock> block_;  // shared with the store and other views: nobody rewrites it while we look
  std::byte* base_;
  std::size_t size_;
};

class BlockPool {
 public:
  explicit BlockPool(std::size_t keep_bytes) : shelf_(std::make_shared<Shelf>(keep_bytes)) {}

  // Not cleared: the receiver overwrites every byte it announced.
  Result<std::shared_ptr<MemoryBlock>> take(std::size_t size);
  std::size_t kept_bytes() const { return shelf_->kept_bytes(); }

 private:
  // Outlives the pool while blocks are in use: they come back here from whichever thread dropped them last.
  class Shelf {
   public:
    explicit Shelf(std::size_t keep_bytes) : keep_bytes_(keep_bytes) {}
    std::unique_ptr<MemoryBlock> best_fit(std::size_t size);
    void put_back(std::unique_ptr<MemoryBlock> block);
    std::size_t kept_bytes() const;

   private:
    const std::size_t keep_bytes_;
    mutable std::mutex mutex_;  // guards the two below; nothing is called under it but the kernel
    std::vector<std::unique_ptr<MemoryBlock>> blocks_;
    std::size_t kept_ = 0;
  };
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace pounce::worker
