// A day of a site: users with notebooks, series of short jobs and long trainings, each with pounced's lease core, and
// one batch system with the classes' limits. Equal seeds give equal days. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy_simulator/site.h"

namespace pounce::policy_simulator {

struct ClassDay {
  std::uint64_t calls = 0, done = 0, lost = 0, refused = 0, withdrawn = 0;
  std::uint64_t leases = 0;                           // started ones
  std::uint64_t bound_by_jobs = 0, bound_by_gpus = 0;  // leases that waited for that limit
  std::uint32_t most_jobs = 0, most_gpus = 0;         // of one user at once
  std::chrono::seconds median_wait{0}, wait_95{0};    // of a call
};

struct Day {
  std::map<std::string, ClassDay> classes;
  double gpu_hours_leased = 0, gpu_hours_busy = 0;
  std::uint64_t reclaimed_for_others = 0, events = 0;
  std::vector<std::string> broken;  // exceeded limits, leftover leases and jobs, broken invariants
};

Day simulate(const Site& site, const BatchRules& rules = {});

}  // namespace pounce::policy_simulator
