// The driver's reports about its GPUs (NVML). The library is opened at its first use and never linked, so that one
// build runs on nodes with and without GPUs. Names and layouts are those of the NVML API reference, driver 510 or
// newer. A call may never return where a GPU has failed. Thread: the one that opened it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_facts.h"
#include "device/gpu_health.h"

namespace pounce::device {

class Nvml {
 public:
  using Device = void*;
  struct Look {
    // Share of the last moments in which it computed; a slice of a GPU does not tell.
    std::optional<std::uint32_t> percent;
    std::uint64_t used_mib = 0, total_mib = 0;
  };

  static std::optional<Nvml> open(const std::string& library);  // nullopt: there is no such driver here

  // The GPUs of CUDA_VISIBLE_DEVICES ("0,2", "GPU-…" or "MIG-…") that the driver knows. `lost`, if given, gets those
  // that it knows and can no longer reach.
  std::vector<Device> devices(const std::string& visible, std::vector<std::string>* lost = nullptr) const;
  std::vector<Device> all() const;  // all that this process may see
  std::vector<std::string> uuids(const std::vector<Device>& devices) const;  // empty where the driver does not tell
  Look look(Device device) const;
  std::vector<DeviceFacts> facts(const std::vector<Device>& devices) const;  // about each, and how they are linked

  // The events of these devices since the last call. A driver or a GPU (a slice) without reports gives none.
  std::vector<GpuHealth> health(const std::vector<Device>& devices);

 private:
  struct Calls;
  struct Reports;
  explicit Nvml(std::shared_ptr<const Calls> calls) : calls_(std::move(calls)) {}
  DeviceFacts facts_of(Device device) const;

  std::shared_ptr<const Calls> calls_;
  std::shared_ptr<Reports> reports_;  // since the first health()
};

}  // namespace pounce::device
