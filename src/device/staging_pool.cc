#include "device/staging_pool.h"

#include <sys/mman.h>

namespace pounce::device {

void StagingPool::Unmap::operator()(std::byte* memory) const { ::munmap(memory, size); }

Result<std::unique_ptr<StagingPool>> StagingPool::make(DeviceThread& thread, Driver& driver, StagingSize size) {
  const std::size_t bytes = size.chunk_bytes * size.chunks;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return failure(ErrorCode::kOutOfMemory, "this process has no memory for what goes to a device and comes from it");
  ::madvise(mapped, bytes, MADV_HUGEPAGE);  // huge pages are pinned a hundred times as fast; a failure does not matter
  std::unique_ptr<std::byte, Unmap> memory(static_cast<std::byte*>(mapped), Unmap{bytes});
  if (auto pinned = thread.run([&] { return driver.pin({memory.get(), bytes}); }); !pinned)
    return failure(pinned.error());
  return std::unique_ptr<StagingPool>(new StagingPool(thread, driver, std::move(memory), size));
}

StagingPool::StagingPool(DeviceThread& thread, Driver& driver, std::unique_ptr<std::byte, Unmap> memory,
                         StagingSize size)
    : thread_(thread), driver_(driver), memory_(std::move(memory)) {
  for (std::size_t i = 0; i < size.chunks; ++i)
    free_.push_back({{memory_.get() + i * size.chunk_bytes, size.chunk_bytes}, {}});
}

StagingPool::~StagingPool() {
  thread_.run([this] { return driver_.unpin({memory_.get(), memory_.get_deleter().size}); });
}

Result<StagingChunk> StagingPool::take() {
  std::unique_lock held(mutex_);
  came_back_.wait(held, [this] { return !free_.empty(); });
  return take_first(std::move(held));
}

Result<std::optional<StagingChunk>> StagingPool::try_take() {
  std::unique_lock held(mutex_);
  if (free_.empty()) return std::optional<StagingChunk>();
  return take_first(std::move(held)).map([](StagingChunk chunk) { return std::optional(chunk); });
}

Result<StagingChunk> StagingPool::take_first(std::unique_lock<std::mutex> held) {
  StagingChunk chunk = free_.front();
  free_.pop_front();
  held.unlock();
  if (chunk.last == Mark{}) return chunk;
  const Mark last = std::exchange(chunk.last, Mark{});
  const auto done = thread_.run([&] { return driver_.wait(last); });
  if (done) return chunk;
  give_back(chunk);
  return failure(done.error());
}

void StagingPool::give_back(StagingChunk chunk) {
  {
    const std::lock_guard held(mutex_);
    free_.push_back(chunk);
  }
  came_back_.notify_one();
}

}  // namespace pounce::device
