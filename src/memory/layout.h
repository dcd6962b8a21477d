// How buffers lie behind each other in one piece of memory. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pounce::memory {

inline constexpr std::uint64_t kAlign = 64;  // a cache line, as numpy and torch prefer

constexpr std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlign - 1) / kAlign * kAlign; }

// Whether buffers of these sizes and places, as a peer announced them, lie within `room` bytes.
inline bool lie_within(std::uint64_t room, const std::vector<std::uint64_t>& sizes, const std::vector<std::uint64_t>& places) {
  if (places.size() != sizes.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > room || places[i] > room - sizes[i]) return false;
  return true;
}

}  // namespace pounce::memory
