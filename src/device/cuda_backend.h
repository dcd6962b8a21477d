// GPUs, through the CUDA runtime and NCCL, where they are. Thread: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/driver.h"

namespace pounce::device {

// Names or paths; the first usable one is taken. A library that another library of the process has loaded is found by
// its name.
struct CudaLibraries {
  std::vector<std::string> runtime = {"libcudart.so.13", "libcudart.so.12"};
  std::vector<std::string> nccl = {"libnccl.so.2"};
};

// kDeviceUnavailable: no runtime, no driver, one that is too old, or no GPU, in one sentence each. Uses no memory of
// any device.
Result<std::unique_ptr<Backend>> cuda_backend(CudaLibraries libraries = {});

}  // namespace pounce::device
