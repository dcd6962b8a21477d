// What is known of a device; what nobody tells is empty. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pounce::device {

struct MemoryRoom {  // of the whole device, whoever has it
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

struct DeviceFacts {
  std::string uuid;    // as the driver writes it: GPU-… or MIG-…
  std::string model;   // of a slice with the slice's own name
  std::string driver;  // its version
  MemoryRoom memory;
  std::optional<bool> sliced;                       // the GPU is divided into slices (MIG)
  std::optional<std::uint32_t> numa_node;           // whose memory is nearest
  std::vector<std::string> nvlink_peers;            // UUIDs of those visible that it reaches over NVLink
  std::optional<std::uint64_t> uncorrected_errors;  // of its memory (ECC), since the driver was loaded
};

}  // namespace pounce::device
