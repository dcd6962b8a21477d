// Whether bytes can go from a file to a GPU without a copy in the host's memory (GPUDirect Storage). Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::device {

enum class GpuDirectStorage : std::uint8_t {
  kYes,     // the kernel's module is loaded
  kCompat,  // cuFile is there without it: it copies through the host
  kNo,
};
std::string word(GpuDirectStorage kind);

GpuDirectStorage gpu_direct_storage(const std::string& module = "/proc/driver/nvidia-fs", const std::string& library = "libcufile.so.0");

}  // namespace pounce::device
