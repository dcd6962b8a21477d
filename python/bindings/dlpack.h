// Memory as a DLPack capsule, which torch, cupy, jax and numpy adopt without a copy
// (https://dmlc.github.io/dlpack/latest/c_api.html; the layout is that of its version 0, which they all read).
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace pounce::dlpack {

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
