#include "memory/block_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "memory/huge_pages.h"
#include "memory/keep_times.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMostKept = 64;  // each has a descriptor

// A child shares the memory that its parent had mapped, and may use it long after the parent has released it.
std::atomic<unsigned> forks = 0;
const int counts_forks = ::pthread_atfork(nullptr, [] { ++forks; }, nullptr);

}  // namespace

Result<std::shared_ptr<MemoryBlock>> BlockPool::take(std::size_t size) {
  std::shared_ptr<MemoryBlock> block = shelf_->best_fit(size);
  if (!block) {
    auto made = make(in_huge_pages(size));
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

void BlockPool::give_back(TimePoint now) {
  if (now >= next_deadline()) shelf_->give_back(now, free_);
}

TimePoint BlockPool::next_deadline() const {
  const auto looked_at = shelf_->looked_at();
  return looked_at ? *looked_at + kBetweenLooks : TimePoint::max();
}

std::shared_ptr<MemoryBlock> BlockPool::Shelf::best_fit(std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const std::size_t capacity = it->block->capacity();
    if (capacity < size || capacity > 2 * in_huge_pages(size) || !it->check()) continue;
    if (best == blocks_.end() || capacity <= best->block->capacity()) best = it;
  }
  if (best == blocks_.end()) return nullptr;
  std::shared_ptr<MemoryBlock> block = std::move(best->block);
  blocks_.erase(best);
  kept_ -= block->capacity();
  block->came_back();
  return block;
}

void BlockPool::Shelf::put_back(std::shared_ptr<MemoryBlock> block) {
  if (!block->reusable() || block.use_count() > 1) return;  // another holder may still use it
  const std::lock_guard lock(mutex_);
  if (block->capacity() > keep_bytes_) return;  // the block is closed, which frees its pages
  make_room(block->capacity());
  if (blocks_.empty()) looked_at_ = Clock::now();
  kept_ += block->capacity();
  const bool is_free = !block->given_away();
  blocks_.push_back({std::move(block), Clock::now(), is_free});
}

// The one that has been unused for longest goes first.
void BlockPool::Shelf::make_room(std::size_t size) {
  while (!blocks_.empty() && (kept_ + size > keep_bytes_ || blocks_.size() == kMostKept)) {
    kept_ -= blocks_.front().block->capacity();
    blocks_.erase(blocks_.begin());
  }
}

void BlockPool::Shelf::give_back(TimePoint now, const Free& free) {
  const std::lock_guard lock(mutex_);
  looked_at_ = now;
  std::uint64_t left = free ? free() : UINT64_MAX;
  std::erase_if(blocks_, [&](Kept& kept) {
    const bool was_free = kept.is_free;
    if (!kept.check()) return false;
    if (!was_free) kept.since = now;
    if (now < kept.since + kKeptWithoutUse && kept_ <= left) return false;
    kept_ -= kept.block->capacity();
    left += kept.block->capacity();
    return true;
  });
}

std::optional<TimePoint> BlockPool::Shelf::looked_at() const {
  const std::lock_guard lock(mutex_);
  return blocks_.empty() ? std::nullopt : std::optional(looked_at_);
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

PlaceAt places_in(const std::shared_ptr<MemoryBlock>& block, std::uint64_t begin) {
  return [block, begin](std::uint64_t offset, std::uint64_t size) -> WritableBytes {
    auto view = block->place(begin + offset, size);
    if (!view) return {};
    const auto bytes = view->bytes();
    return {bytes,
            std::make_shared<std::pair<std::shared_ptr<View>, std::shared_ptr<MemoryBlock>>>(std::move(view), block)};
  };
}

namespace {

constexpr std::size_t kStepBytes = 32 * 1024 * 1024;

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
