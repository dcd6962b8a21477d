#include "device/device.h"

#include <system_error>
#include <utility>

#include "device/buffer.h"

namespace pounce::device {

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
