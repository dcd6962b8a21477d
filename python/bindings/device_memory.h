// A worker's memory on a device as Python sees it, and memory as a DLPack capsule.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/devices.h"
#include "device/transfer.h"

namespace pounce::dlpack {

// A DLPack capsule is what torch, cupy, jax and numpy take over without a copy
// (https://dmlc.github.io/dlpack/latest/c_api.html; the layout is that of its version 0, which they all read).
struct Tensor {
  void* data = nullptr;
  std::int32_t device_type = 0, device = 0;
  std::uint8_t code = 0, bits = 0;             // of an element
  std::vector<std::int64_t> shape, strides{};  // in elements
  std::shared_ptr<const void> keep;            // released on any thread, without the GIL
};

inline constexpr std::int32_t kCpu = 1, kCuda = 2;

pybind11::capsule capsule(Tensor tensor);

}  // namespace pounce::dlpack

namespace pounce {

struct DeviceMemory {
  device::Buffers placed;
  std::size_t index = 0;

  const device::Buffer& buffer() const { return placed->buffers[index]; }
};

pybind11::list to_python(const device::Buffers& placed);
pybind11::object to_python(std::shared_ptr<device::Devices> devices);

}  // namespace pounce
