// What NVIDIA's driver says of its GPUs (NVML), and whether a GPU can still be given work. The library is opened on
// first use and never linked, so that one build runs on nodes with and without GPUs; names and layouts are those of the
// NVML API reference, driver 510 or newer. A call may never return where a GPU has failed. Thread: the one that opened
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/driver.h"
#include "pounce/error.h"

namespace pounce::device {

// Whether a GPU can still be given work, judged by what its driver reports. Pure.

// The meaning of an Xid, the number of a driver's report.
enum class XidMeaning : std::uint8_t {
  kProgram,  // a program caused it, and only that program ends
  kGpu,      // the GPU, its memory or its links: it must not be used before it was reset or repaired
  kUnknown,  // from a newer driver, or either of these
};
XidMeaning meaning_of_xid(std::uint64_t xid);

struct GpuHealth {
  bool gone = false;                // the driver does not reach it any more
  std::vector<std::uint64_t> xids;  // reported since the last look
  bool memory_failed = false;       // an uncorrected error of its memory (ECC) since the last look
};

// The error for a GPU that must not be used; nullopt: it may be used.
std::optional<Error> failure_of(const std::string& uuid, const GpuHealth& health);

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
  std::vector<Device> all() const;                                           // all that this process may see
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
