// What the driver says of its GPUs (NVML). The library is opened when it is asked for and never linked, so that one build runs
// on nodes with and without GPUs; names and layouts are those of the NVML API reference, driver 510 or newer. A call may
// never return where a GPU has failed. Thread: the one that opened it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pounce::device {

class Nvml {
 public:
  using Device = void*;
  struct Look {
    std::optional<std::uint32_t> percent;  // of the last moments in which it computed; a slice of a GPU does not tell
    std::uint64_t used_mib = 0, total_mib = 0;
  };

  static std::optional<Nvml> open(const std::string& library);  // nothing: there is no such driver here

  // Those of CUDA_VISIBLE_DEVICES, "0,2", "GPU-…" or "MIG-…", that the driver knows.
  std::vector<Device> devices(const std::string& visible) const;
  Look look(Device device) const;

 private:
  struct Calls;
  explicit Nvml(std::shared_ptr<const Calls> calls) : calls_(std::move(calls)) {}

  std::shared_ptr<const Calls> calls_;
};

}  // namespace pounce::device
