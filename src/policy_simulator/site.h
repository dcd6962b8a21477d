// The site of a simulated day: its nodes, its classes with their limits, how many people there are. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pounce::policy_simulator {

struct ClassRule {
  std::string name;
  std::chrono::minutes walltime{24 * 60};
  std::optional<std::uint32_t> jobs_per_user, gpus_per_user;
  std::uint32_t priority = 0;
};

// A bug to plant: a check that finds nothing must be shown to find these.
enum class Bug : std::uint8_t { kNone, kIgnoresJobLimit, kIgnoresGpuLimit, kNothingEnds };  // nothing: but by its walltime

struct Site {
  std::uint32_t nodes = 16, gpus_per_node = 4, cpus_per_node = 64;
  std::vector<ClassRule> classes;
  std::uint32_t users = 200;
  std::chrono::hours hours{24};
  std::uint64_t seed = 1;
  std::chrono::milliseconds idle_release{60'000}, keep_warm{0};
  std::uint32_t starts_per_hour = 0;
  Bug bug = Bug::kNone;
};

}  // namespace pounce::policy_simulator
