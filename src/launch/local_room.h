// What the local launcher hands out where it is counted: a job's share of a machine, which is not more than Slurm gave.
// Pure. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::launch {

struct LocalRoom {
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;   // 0: not counted
  std::vector<std::string> gpus;  // by their names for CUDA
};

LocalRoom room_of(std::uint64_t cpus, std::uint64_t memory_mib, const std::string& gpus);  // "0,1"

// What jobs hold of it. `gpus`: places in the room's list.
struct RoomUse {
  std::uint64_t cpus = 0, memory_mib = 0;
  std::vector<std::uint32_t> gpus;

  void add(const Resources& held, const std::vector<std::uint32_t>& held_gpus);
};

// kUnsatisfiable: not even the empty room has it.
Result<void> can_ever_fit(const LocalRoom& room, const Resources& asked);
// The GPUs that it gets now; nullopt: it has to wait.
std::optional<std::vector<std::uint32_t>> fit(const LocalRoom& room, const RoomUse& used, const Resources& asked);

}  // namespace pounce::launch
