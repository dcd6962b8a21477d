// Memory of a device, owned by one Buffer and given back when that is destroyed. Thread: any but the device's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace pounce::device {

class Device;

class Buffer {
 public:
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return memory_; }  // an address on the device; null if the size is 0
  std::size_t size() const { return size_; }
  Device& device() const { return *device_; }

 private:
  friend class Device;
  Buffer(std::shared_ptr<Device> device, std::byte* memory, std::size_t size, std::string holder)
      : device_(std::move(device)), memory_(memory), size_(size), holder_(std::move(holder)) {}

  std::shared_ptr<Device> device_;
  std::byte* memory_;
  std::size_t size_;
  std::string holder_;
};

}  // namespace pounce::device
