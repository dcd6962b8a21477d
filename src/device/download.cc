#include "device/download.h"

#include <algorithm>

namespace pounce::device {
namespace {

// The piece that is read next, and one behind it; more would only keep chunks from other users of the pool.
constexpr std::size_t kAhead = 2;

}  // namespace

Download::~Download() {
  StagingPool& staging = from_.device().staging();
  if (read_) staging.give_back(*read_);
  for (const Piece& piece : coming_) staging.give_back(piece.chunk);
  // Waits for the copies, because the owner may free the memory afterwards.
  if (!coming_.empty())
    from_.device().thread().run([this] { return from_.device().driver().wait(coming_.back().chunk.last); });
}

Result<std::span<const std::byte>> Download::next() {
  if (read_) from_.device().staging().give_back(*std::exchange(read_, std::nullopt));
  if (auto begun = look_ahead(); !begun) return failure(begun.error());
  if (coming_.empty()) return std::span<const std::byte>();
  const Piece piece = coming_.front();
  coming_.pop_front();
  read_ = StagingChunk{piece.chunk.bytes, {}};
  if (auto came = from_.device().thread().run([&] { return from_.device().driver().wait(piece.chunk.last); }); !came)
    return failure(came.error());
  return std::span<const std::byte>(piece.chunk.bytes.first(piece.size));
}

// Waits for a chunk only while it has none: two downloads that each hold one and wait for another would wait forever.
Result<void> Download::look_ahead() {
  while (coming_.size() < kAhead && begun_ < from_.size()) {
    if (coming_.empty()) {
      const auto chunk = from_.device().staging().take();
      if (!chunk) return failure(chunk.error());
      if (auto begun = begin(*chunk); !begun) return begun;
      continue;
    }
    const auto chunk = from_.device().staging().try_take();
    if (!chunk) return failure(chunk.error());
    if (!*chunk) break;
    if (auto begun = begin(**chunk); !begun) return begun;
  }
  return {};
}

Result<void> Download::begin(StagingChunk chunk) {
  const std::size_t size = std::min(chunk.bytes.size(), from_.size() - begun_);
  Device& device = from_.device();
  const auto mark =
      device.thread().run([&] { return device.driver().copy_out(chunk.bytes.first(size), from_.data() + begun_); });
  if (!mark) {
    device.staging().give_back(chunk);
    return failure(mark.error());
  }
  chunk.last = *mark;
  coming_.push_back({chunk, size});
  begun_ += size;
  return {};
}

}  // namespace pounce::device
