// Buffers on their way to a device. Their pieces come in any order, from several threads, and go through pinned
// memory while the next ones come. The first piece allocates the device memory. Thread: any but the device's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "device/device.h"
#include "device/device_name.h"

namespace pounce::device {

struct Placed {
  explicit Placed(DeviceName name) : device(name) {}
  DeviceName device;
  std::vector<Buffer> buffers;
};
using Buffers = std::shared_ptr<const Placed>;

class Placement {
 public:
  using Open = std::function<Result<std::shared_ptr<Device>>()>;

  // `holder`: the purpose, as an "out of memory" error names it.
  Placement(DeviceName name, Open open, std::vector<std::uint64_t> sizes, std::string holder)
      : name_(name), open_(std::move(open)), sizes_(std::move(sizes)), holder_(std::move(holder)) {}
  ~Placement();  // waits for the copies; unfinished memory is freed after them
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Waits for the device to open, and for pinned memory while all of it is in use. After a failure every call fails.
  Result<void> write(std::size_t buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<Buffers> finish();  // waits until everything written is on the device, for later users of it

 private:
  Result<void> begin();  // once
  Result<void> fail(Error error);

  const DeviceName name_;
  const Open open_;
  const std::vector<std::uint64_t> sizes_;
  const std::string holder_;
  std::mutex mutex_;  // guards the three below; the first two do not change once they are set
  std::shared_ptr<Placed> placed_;
  std::shared_ptr<Device> device_;
  std::optional<Error> failed_;  // the first
  Mark last_{};                  // used on the device's thread
};

}  // namespace pounce::device
