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
  std::uint32_t workers = 1;         // of one lease: processes on one node, each with all of the above
  auto operator<=>(const Resources&) const = default;

  std::uint32_t all_gpus() const { return workers * gpus; }
  std::uint64_t all_memory_mib() const { return workers * memory_mib; }
};

}  // namespace pounce
