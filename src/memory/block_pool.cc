#include "memory/block_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace pounce::memory {
namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

// A child shares the memory that its parent had mapped, and may use it long after the parent has released it.
std::atomic<unsigned> forks = 0;
const int counts_forks = ::pthread_atfork(nullptr, [] { ++forks; }, nullptr);

std::size_t rounded(std::size_t size) { return (size + kHugePage - 1) / kHugePage * kHugePage; }

}  // namespace

Result<std::shared_ptr<MemoryBlock>> BlockPool::take(std::size_t size) {
  std::shared_ptr<MemoryBlock> block = shelf_->best_fit(size);
  if (!block) {
    auto made = make(rounded(size));
    if (!made) return failure(std::move(made.error()));
    block = std::move(*made);
  }
  return own(std::move(block));
}

Result<std::unique_ptr<MemoryBlock>> BlockPool::make(std::size_t size) {
  auto fits = fits_ ? fits_(size) : Result<void>{};
  if (!fits && kept_bytes() > 0) {
    shelf_->clear();  // the kept blocks took the room
    fits = fits_(size);
  }
  if (!fits) return failure(std::move(fits.error()));
  return MemoryBlock::make(size);
}

std::shared_ptr<MemoryBlock> BlockPool::own(std::shared_ptr<MemoryBlock> block) {
  MemoryBlock* const shown = block.get();
  return {shown, [shelf = shelf_, block = std::move(block), before = forks.load()](MemoryBlock*) mutable {
            if (forks == before && counts_forks == 0) shelf->put_back(std::move(block));
          }};
}

std::shared_ptr<MemoryBlock> BlockPool::Shelf::best_fit(std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const std::size_t capacity = (*it)->capacity();
    if (capacity < size || capacity > 2 * rounded(size)) continue;
    if (best == blocks_.end() || capacity < (*best)->capacity()) best = it;
  }
  if (best == blocks_.end()) return nullptr;
  std::shared_ptr<MemoryBlock> block = std::move(*best);
  blocks_.erase(best);
  kept_ -= block->capacity();
  return block;
}

void BlockPool::Shelf::put_back(std::shared_ptr<MemoryBlock> block) {
  if (!block->reusable() || block.use_count() > 1) return;  // another holder may still use it
  const std::lock_guard lock(mutex_);
  if (kept_ + block->capacity() > keep_bytes_) return;  // the block is closed, which frees its pages
  kept_ += block->capacity();
  blocks_.push_back(std::move(block));
}

void BlockPool::Shelf::clear() {
  const std::lock_guard lock(mutex_);
  blocks_.clear();
  kept_ = 0;
}

std::size_t BlockPool::Shelf::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

namespace {

constexpr std::size_t kStepBytes = 16 * 1024 * 1024;

}  // namespace

Result<Packing> Packing::begin(BlockPool& pool, std::vector<std::span<const std::byte>> pieces) {
  std::vector<std::uint64_t> places;
  std::uint64_t size = 0;
  for (const auto piece : pieces) {
    places.push_back(size);
    size += aligned(piece.size());
  }
  auto block = pool.take(size);
  if (!block) return failure(std::move(block.error()));
  return Packing(std::move(pieces), std::move(places), std::move(*block));
}

Packing::Packing(std::vector<std::span<const std::byte>> pieces, std::vector<std::uint64_t> places,
                 std::shared_ptr<MemoryBlock> block)
    : pieces_(std::move(pieces)), places_(std::move(places)), block_(std::move(block)) {
  skip_copied();
}

Result<void> Packing::step() {
  for (std::size_t left = kStepBytes; left > 0 && !whole();) {
    const auto rest = pieces_[piece_].subspan(copied_);
    const auto part = rest.first(std::min(left, rest.size()));
    if (auto written = block_->write(places_[piece_] + copied_, part); !written) return written;
    left -= part.size();
    copied_ += part.size();
    skip_copied();
  }
  return {};
}

void Packing::skip_copied() {
  while (!whole() && copied_ == pieces_[piece_].size()) {
    ++piece_;
    copied_ = 0;
  }
}

}  // namespace pounce::memory
