#include "device/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace pounce::device {

DeviceThread::DeviceThread() : thread_([this] { serve(); }) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard held(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceThread::post(std::function<void()> act) {
  {
    const std::lock_guard held(mutex_);
    waiting_.push_back(std::move(act));
  }
  changed_.notify_one();
}

void DeviceThread::serve() {
  name_thread("pounce-device");
  std::unique_lock held(mutex_);
  for (;;) {
    changed_.wait(held, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> act = std::move(waiting_.front());
    waiting_.pop_front();
    held.unlock();
    act();
    held.lock();
  }
}

namespace {

constexpr std::size_t kShownHolders = 4;  // in the sentence; the context has all

std::string size_words(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1024 * 1024, kGibi = 1024 * kMebi;
  char text[32];
  if (bytes < kMebi) return std::to_string(bytes) + " bytes";
  const bool large = bytes >= kGibi;
  std::snprintf(text, sizeof text, "%.1f %s", static_cast<double>(bytes) / static_cast<double>(large ? kGibi : kMebi),
                large ? "GiB" : "MiB");
  return text;
}

using Holder = std::pair<std::string, std::uint64_t>;

std::vector<Holder> largest_first(const MemoryUse& use) {
  std::vector<Holder> all(use.holders.begin(), use.holders.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Holder& one, const Holder& other) { return one.second > other.second; });
  return all;
}

std::string shown(const std::vector<Holder>& holders, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, holders.size()); ++i)
    text += (i > 0 ? ", " : "") + holders[i].first + " " + size_words(holders[i].second);
  if (holders.size() > most) text += " and " + std::to_string(holders.size() - most) + " more";
  return text;
}

}  // namespace

void MemoryLedger::add(const std::string& holder, std::uint64_t bytes) {
  use_.holders[holder] += bytes;
  use_.bytes += bytes;
  use_.most_bytes = std::max(use_.most_bytes, use_.bytes);
}

void MemoryLedger::remove(const std::string& holder, std::uint64_t bytes) {
  const auto found = use_.holders.find(holder);
  POUNCE_CHECK(found != use_.holders.end() && found->second >= bytes, "memory is given back by who has it");
  found->second -= bytes;
  if (found->second == 0) use_.holders.erase(found);
  use_.bytes -= bytes;
}

Error out_of_device_memory(std::uint64_t wanted_bytes, const MemoryUse& use, std::optional<MemoryRoom> room) {
  const auto holders = largest_first(use);
  std::string text = "the device has no room for " + size_words(wanted_bytes);
  if (room) text += ": " + size_words(room->free_bytes) + " of " + size_words(room->total_bytes) + " are free";
  text += "; pounce holds " + size_words(use.bytes) + " (" + size_words(use.most_bytes) + " at most)";
  if (!holders.empty()) text += ": " + shown(holders, kShownHolders);
  Error error{ErrorCode::kOutOfMemory, text, "Drop what is kept on the device, or ask for a GPU with more memory.", {}};
  error.context = {{"asked_bytes", std::to_string(wanted_bytes)},
                   {"held_bytes", std::to_string(use.bytes)},
                   {"most_bytes", std::to_string(use.most_bytes)},
                   {"holders", shown(holders, holders.size())}};
  if (room)
    error.context["free_bytes"] = std::to_string(room->free_bytes),
    error.context["total_bytes"] = std::to_string(room->total_bytes);
  return error;
}

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

Result<std::shared_ptr<Device>> Device::open(Backend& backend, Ordinal which, StagingSize staging) {
  std::shared_ptr<Device> device;
  try {
    device.reset(new Device(which));
  } catch (const std::system_error&) {
    return failure(ErrorCode::kOutOfMemory, "this process may have no more threads, and a device needs one");
  }
  if (auto started = device->start(backend, staging); !started) return failure(started.error());
  return device;
}

Result<void> Device::start(Backend& backend, StagingSize staging) {
  auto driver = thread_.run([&] { return backend.open(ordinal_); });
  if (!driver) return failure(driver.error());
  driver_ = std::move(*driver);
  auto pool = StagingPool::make(thread_, *driver_, staging);
  if (!pool) return failure(pool.error());
  staging_ = std::move(*pool);
  return {};
}

Device::~Device() {
  staging_.reset();
  thread_.run([this] { return driver_.reset(), true; });
}

Result<Buffer> Device::allocate(std::size_t size, std::string holder) {
  std::byte* memory = nullptr;
  if (size > 0) {
    const auto taken = thread_.run([&] { return take_memory(size, holder); });
    if (!taken) return failure(taken.error());
    memory = *taken;
  }
  return Buffer(shared_from_this(), memory, size, std::move(holder));
}

Result<std::byte*> Device::take_memory(std::size_t size, const std::string& holder) {
  auto memory = driver_->allocate(size);
  if (memory) {
    const std::lock_guard held(mutex_);
    ledger_.add(holder, size);
    return memory;
  }
  if (memory.error().code != ErrorCode::kOutOfMemory) return memory;
  const auto room = driver_->room();
  return failure(out_of_device_memory(size, use(), room ? std::optional(*room) : std::nullopt));
}

void Device::give_back(std::byte* memory, std::size_t size, const std::string& holder) {
  // The error of a failed device is dropped: the caller could do nothing about it.
  thread_.run([&] { return driver_->free(memory); });
  const std::lock_guard held(mutex_);
  ledger_.remove(holder, size);
}

MemoryUse Device::use() const {
  const std::lock_guard held(mutex_);
  return ledger_.use();
}

Result<MemoryRoom> Device::room() {
  return thread_.run([this] { return driver_->room(); });
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::move(other.device_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      holder_(std::move(other.holder_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(holder_, other.holder_);
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) device_->give_back(memory_, size_, holder_);
}

}  // namespace pounce::device
