#include "memory/packing.h"

#include <algorithm>
#include <utility>

#include "memory/layout.h"

namespace pounce::memory {
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

Packing::Packing(std::vector<std::span<const std::byte>> pieces, std::vector<std::uint64_t> places, std::shared_ptr<MemoryBlock> block)
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
