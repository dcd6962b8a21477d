// What python/pounce/options.py makes of a person's words, as Options.as_tuple() has it. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pounce/resources.h"

namespace pounce {

using ResourceTuple =
    std::tuple<std::string, std::uint32_t, std::string, std::uint32_t, std::uint64_t, std::int64_t, std::uint32_t,
               std::uint64_t, std::uint32_t, int, std::string, std::string, std::string,
               std::vector<std::pair<std::string, std::string>>>;

inline Resources to_resources(const ResourceTuple& tuple) {
  const auto& [class_name, gpus, gpu_type, cpus, memory_mib, minutes, workers, gpu_memory_mib, cuda, placement, not_nodes,
               account, reservation, slurm] = tuple;
  return {class_name,     gpus, gpu_type, cpus, memory_mib, std::chrono::minutes(minutes), workers,
          gpu_memory_mib, cuda, static_cast<Placement>(placement), not_nodes, account, reservation, {slurm.begin(), slurm.end()}};
}

}  // namespace pounce
