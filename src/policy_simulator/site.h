// The site of a simulated day: its nodes, its classes with their limits, its number of users. Values only.
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

// The rules of the batch system's decisions. A test replaces one to prove that the day's checks find the fault.
struct BatchRules {
  virtual ~BatchRules() = default;
  virtual bool within_jobs(const ClassRule& limits, std::uint32_t jobs) const { return jobs <= limits.jobs_per_user.value_or(jobs); }
  virtual bool within_gpus(const ClassRule& limits, std::uint32_t gpus) const { return gpus <= limits.gpus_per_user.value_or(gpus); }
  virtual bool ends(JobEnd) const { return true; }  // after its daemon's cancel, or when its workers leave
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
