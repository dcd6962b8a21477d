#include "device/transfer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace pounce::device {

Upload::~Upload() {
  if (chunk_) to_.device().staging().give_back(*chunk_);
  if (!finished_ && sent_ > 0) to_.device().thread().run([this] { return to_.device().driver().wait(last_); });
}

Result<std::span<std::byte>> Upload::room() {
  if (came() == to_.size()) return std::span<std::byte>();
  if (!chunk_) {
    auto taken = take();
    if (!taken) return failure(taken.error());
    chunk_ = *taken;
  }
  return chunk_->bytes.subspan(used_, std::min(chunk_->bytes.size() - used_, to_.size() - came()));
}

Result<StagingChunk> Upload::take() {
  std::optional<Error> now;
  if (!in_vain_) {
    auto taken = to_.device().staging().take();
    if (taken) return taken;
    now = taken.error();
  }
  return failure(to_.device().thread().run([&] { return failed_ ? *failed_ : *(failed_ = now); }));
}

void Upload::filled(std::size_t size) {
  POUNCE_CHECK(chunk_ && size <= chunk_->bytes.size() - used_ && size <= to_.size() - came(),
               "no more is filled than there was room for");
  used_ += size;
  if (used_ == chunk_->bytes.size() || came() == to_.size()) send();
}

void Upload::send() {
  Device& device = to_.device();
  device.thread().post([this, &device, chunk = *chunk_, at = to_.data() + sent_, size = used_]() mutable {
    const auto mark = device.driver().copy_in(at, chunk.bytes.first(size));
    if (mark) chunk.last = last_ = *mark;
    if (!mark && !failed_) failed_ = mark.error();
    in_vain_ = failed_.has_value();
    device.staging().give_back(chunk);
  });
  chunk_.reset();
  sent_ += std::exchange(used_, 0);
}

Result<void> Upload::write(std::span<const std::byte> bytes) {
  if (bytes.size() > to_.size() - came()) return failure(ErrorCode::kBadRequest, "more bytes came than were announced");
  while (!bytes.empty()) {
    const auto into = room();
    if (!into) return failure(into.error());
    const std::size_t size = std::min(into->size(), bytes.size());
    std::memcpy(into->data(), bytes.data(), size);
    filled(size);
    bytes = bytes.subspan(size);
  }
  return {};
}

Result<void> Upload::finish() {
  finished_ = true;
  return to_.device().thread().run([this]() -> Result<void> {
    const auto done = to_.device().driver().wait(last_);
    if (failed_) return failure(*failed_);
    if (done && came() < to_.size())
      return failure(ErrorCode::kBadRequest,
                     std::to_string(came()) + " bytes came of " + std::to_string(to_.size()) + " that were announced");
    return done;
  });
}

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

Placement::~Placement() {
  if (device_ != nullptr) device_->thread().run([this] { return device_->driver().wait(last_); });
}

Result<void> Placement::begin() {
  const std::lock_guard held(mutex_);
  if (failed_) return failure(*failed_);
  if (placed_ != nullptr) return {};
  auto device = open_();
  auto placed = std::make_shared<Placed>(name_);
  for (const std::uint64_t size : sizes_) {
    if (!device) break;
    auto buffer = (*device)->allocate(size, holder_);
    if (buffer)
      placed->buffers.push_back(std::move(*buffer));
    else
      device = failure(buffer.error());
  }
  if (!device) return failure(*(failed_ = device.error()));
  device_ = std::move(*device);
  placed_ = std::move(placed);
  return {};
}

Result<void> Placement::write(std::size_t buffer, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (auto begun = begin(); !begun) return begun;
  const Buffer& into = placed_->buffers.at(buffer);
  if (offset > into.size() || bytes.size() > into.size() - offset)
    return fail({ErrorCode::kBadRequest, "more bytes came than were announced", {}, {}});
  std::byte* to = into.data() + offset;
  while (!bytes.empty()) {
    auto chunk = device_->staging().take();
    if (!chunk) return fail(chunk.error());
    const std::size_t size = std::min(chunk->bytes.size(), bytes.size());
    std::memcpy(chunk->bytes.data(), bytes.data(), size);
    device_->thread().post([this, chunk = *chunk, to, size]() mutable {
      const auto mark = device_->driver().copy_in(to, chunk.bytes.first(size));
      if (mark)
        chunk.last = last_ = *mark;
      else
        static_cast<void>(fail(mark.error()));
      device_->staging().give_back(chunk);
    });
    to += size;
    bytes = bytes.subspan(size);
  }
  return {};
}

Result<Buffers> Placement::finish() {
  if (auto begun = begin(); !begun) return failure(begun.error());  // here too, for buffers that are all empty
  const auto done = device_->thread().run([this] { return device_->driver().wait(last_); });
  if (!done) static_cast<void>(fail(done.error()));
  const std::lock_guard held(mutex_);
  if (failed_) return failure(*failed_);
  return Buffers(placed_);
}

Result<void> Placement::fail(Error error) {
  const std::lock_guard held(mutex_);
  if (!failed_) failed_ = std::move(error);
  return failure(*failed_);
}

}  // namespace pounce::device
