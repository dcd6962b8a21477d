// A worker's device memory in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>

#include "device/devices.h"
#include "device/placement.h"

namespace pounce {

struct DeviceMemory {
  device::Buffers placed;
  std::size_t index = 0;

  const device::Buffer& buffer() const { return placed->buffers[index]; }
};

pybind11::list to_python(const device::Buffers& placed);
pybind11::object to_python(std::shared_ptr<device::Devices> devices);

}  // namespace pounce
