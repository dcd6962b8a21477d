// Facts about a device; a fact that the driver does not report is empty. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pounce::device {

struct MemoryRoom {  // of the whole device, with all processes
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

struct DeviceFacts {
  std::string uuid;    // as the driver writes it: GPU-… or MIG-…
  std::string model;   // for a slice, with the slice's own name
  std::string driver;  // its version
  MemoryRoom memory;
  std::optional<bool> sliced;                       // the GPU is divided into slices (MIG)
  std::optional<std::uint32_t> numa_node;           // the nearest one
  std::vector<std::string> nvlink_peers;            // UUIDs of the visible GPUs that it reaches over NVLink
  std::optional<std::uint64_t> uncorrected_errors;  // of its memory (ECC), since the driver was loaded
};

}  // namespace pounce::device
