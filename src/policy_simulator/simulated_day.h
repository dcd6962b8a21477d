// A day of a site: users with notebooks, series of short jobs and long trainings, each with the lease core that pounced
// runs, and one batch system with the classes' limits. The same seed is the same day. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"

namespace pounce::policy_simulator {

// The site: its nodes, its classes with their limits, how many people there are. Values only.
struct ClassRule {
  std::string name;
  std::chrono::minutes walltime{24 * 60};
  std::optional<std::uint32_t> jobs_per_user, gpus_per_user;
  std::uint32_t priority = 0;
};

// The rules of the batch system's decisions. A test replaces one to prove that the day's checks find the fault.
struct BatchRules {
  virtual ~BatchRules() = default;
  virtual bool within_jobs(const ClassRule& limits, std::uint32_t jobs) const {
    return jobs <= limits.jobs_per_user.value_or(jobs);
  }
  virtual bool within_gpus(const ClassRule& limits, std::uint32_t gpus) const {
    return gpus <= limits.gpus_per_user.value_or(gpus);
  }
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

struct ClassDay {
  std::uint64_t calls = 0, done = 0, lost = 0, refused = 0, withdrawn = 0;
  std::uint64_t leases = 0;                            // started ones
  std::uint64_t bound_by_jobs = 0, bound_by_gpus = 0;  // leases that waited for that limit
  std::uint32_t most_jobs = 0, most_gpus = 0;          // of one user at once
  std::chrono::seconds median_wait{0}, wait_95{0};     // of a call
};

struct Day {
  std::map<std::string, ClassDay> classes;
  double gpu_hours_leased = 0, gpu_hours_busy = 0;
  std::uint64_t reclaimed_for_others = 0, events = 0;
  std::vector<std::string> broken;  // exceeded limits, leftover leases and jobs, broken invariants
};

Day simulate(const Site& site, const BatchRules& rules = {});

}  // namespace pounce::policy_simulator
