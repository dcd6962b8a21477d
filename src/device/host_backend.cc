#include <unistd.h>

#include <cstring>
#include <map>
#include <new>

#include "base/random_id.h"
#include "device/driver.h"
#include "device/host_group.h"

namespace pounce::device {
namespace {

constexpr std::align_val_t kAlignment{256};  // as cudaMalloc's

std::uint64_t machine_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class HostDriver final : public Driver {
 public:
  explicit HostDriver(std::uint64_t memory_bytes) : total_(memory_bytes) {}

  Result<MemoryRoom> room() override { return MemoryRoom{total_ - used_, total_}; }

  Result<std::byte*> allocate(std::size_t size) override {
    void* memory = size <= total_ - used_ ? ::operator new(size, kAlignment, std::nothrow) : nullptr;
    if (memory == nullptr) return failure(ErrorCode::kOutOfMemory, "the machine has no memory for it");
    used_ += sizes_[static_cast<std::byte*>(memory)] = size;
    return static_cast<std::byte*>(memory);
  }

  Result<void> free(std::byte* memory) override {
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return failure(ErrorCode::kInternal, "this memory is none of the device's");
    used_ -= found->second;
    sizes_.erase(found);
    ::operator delete(memory, kAlignment);
    return {};
  }

  Result<void> pin(std::span<std::byte>) override { return {}; }
  Result<void> unpin(std::span<std::byte>) override { return {}; }

  Result<Mark> copy_in(std::byte* to, std::span<const std::byte> from) override {
    std::memcpy(to, from.data(), from.size());
    return Mark{++copies_};
  }

  Result<Mark> copy_out(std::span<std::byte> to, const std::byte* from) override {
    std::memcpy(to.data(), from, to.size());
    return Mark{++copies_};
  }

  Result<void> wait(Mark) override { return {}; }

  Result<std::unique_ptr<Group>> join(const GroupId& id, Rank rank, std::uint32_t ranks) override {
    return host_group(id, rank, ranks);
  }

  std::uintptr_t stream() const override { return 0; }

 private:
  const std::uint64_t total_;
  std::map<std::byte*, std::size_t> sizes_;
  std::uint64_t used_ = 0, copies_ = 0;
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(HostSize size) : size_(size) {
    if (size_.memory_bytes == 0) size_.memory_bytes = machine_memory();
  }

  Result<std::vector<DeviceFacts>> devices() override {
    std::vector<DeviceFacts> all(size_.devices);
    for (std::uint32_t i = 0; i < size_.devices; ++i) {
      all[i].uuid = "host-" + std::to_string(i);
      all[i].model = "host memory";
      all[i].memory = {size_.memory_bytes, size_.memory_bytes};
    }
    return all;
  }

  Result<std::unique_ptr<Driver>> open(Ordinal which) override {
    if (which.value >= size_.devices)
      return failure(ErrorCode::kDeviceUnavailable, "there is no device " + std::to_string(which.value) + " here",
                     "This worker has " + std::to_string(size_.devices) + ".");
    return std::make_unique<HostDriver>(size_.memory_bytes);
  }

  Result<GroupId> new_group() override { return random_id<GroupId>(); }

 private:
  HostSize size_;
};

}  // namespace

std::unique_ptr<Backend> host_backend(HostSize size) { return std::make_unique<HostBackend>(size); }

}  // namespace pounce::device
