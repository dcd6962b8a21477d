// Copies several pieces of memory into one block, in steps, so that the copying thread stays responsive. Thread: any,
// one at a time.
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
  // kOutOfMemory: there is no room for them. The sum of the pieces must be at least 1 byte.
  static Result<Packing> begin(BlockPool& pool, std::vector<std::span<const std::byte>> pieces);

  Result<void> step();  // copies for some milliseconds
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
