// Several pieces of memory copied behind each other into one block, some at a time so that whoever copies stays
// responsive. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/block_pool.h"
#include "pounce/result.h"

namespace pounce::memory {

class Packing {
 public:
  // kOutOfMemory: there is no room for them. Of pieces without a byte nothing is made: their sum is at least 1.
  static Result<Packing> begin(BlockPool& pool, std::vector<std::span<const std::byte>> pieces);

  Result<void> step();  // some milliseconds of copying
  bool whole() const { return piece_ == pieces_.size(); }
  const std::vector<std::uint64_t>& places() const { return places_; }  // of each piece in the block
  const std::shared_ptr<MemoryBlock>& block() const { return block_; }

 private:
  Packing(std::vector<std::span<const std::byte>> pieces, std::vector<std::uint64_t> places, std::shared_ptr<MemoryBlock> block);
  void skip_copied();

  std::vector<std::span<const std::byte>> pieces_;
  std::vector<std::uint64_t> places_;
  std::shared_ptr<MemoryBlock> block_;
  std::size_t piece_ = 0, copied_ = 0;
};

}  // namespace pounce::memory
