// What a task asks for, and what a lease gives. Values only. Thread: any.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace pounce {

// Two tasks with equal Resources can share a lease. 0 / empty = "not said": the class and partition decide.
struct Resources {
  std::string class_name;            // a class of the policy; until policy files exist, the QoS of that name
  std::uint32_t gpus = 0;            // per worker
  std::string gpu_type;              // Slurm GRES type, e.g. "a100_3g.20gb"
  std::uint32_t cpus = 0;            // per worker
  std::uint64_t memory_mib = 0;      // per worker
  std::chrono::minutes time{0};      // walltime of the lease; Slurm counts minutes
  auto operator<=>(const Resources&) const = default;
};

}  // namespace pounce
