#include "device/placement.h"

#include <algorithm>
#include <cstring>

namespace pounce::device {

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
