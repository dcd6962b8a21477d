#include "device/upload.h"

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

}  // namespace pounce::device
