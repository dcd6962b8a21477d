// The site of a simulated day: its nodes, its classes with their limits, how many people there are. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/job.h"

namespace pounce::policy_simulator {

struct ClassRule {
  std::string name;
  std::chrono::minutes walltime{24 * 60};
  std::optional<std::uint32_t> jobs_per_user, gpus_per_user;
  std::uint32_t priority = 0;
};

// What the batch system decides by. A test replaces one to see that the check of the day finds the fault.
struct BatchRules {
  virtual ~BatchRules() = default;
  virtual bool within_jobs(const ClassRule& limits, std::uint32_t jobs) const { return jobs <= limits.jobs_per_user.value_or(jobs); }
  virtual bool within_gpus(const ClassRule& limits, std::uint32_t gpus) const { return gpus <= limits.gpus_per_user.value_or(gpus); }
  virtual bool ends(JobEnd) const { return true; }  // when its daemon cancels it, or its workers leave
};

struct Site {
  std::uint32_t nodes = 16, gpus_per_node = 4, cpus_per_node = 64;
  std::vector<ClassRule> classes;
  std::uint32_t users = 200;
  std::chrono::hours hours{24};
  std::uint64_t seed = 1;
  std::chrono::milliseconds idle_release{60'000}, keep_warm{0};
  std::uint32_t starts_per_hour = 0;
};

}  // namespace pounce::policy_simulator
