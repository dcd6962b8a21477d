// One lease as status documents show it. Plain data. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "core/lease/lease.h"

namespace pounce::lease {

struct LeaseView {
  LeaseId lease;
  LeaseState state = LeaseState::kRequested;
  Resources resources;
  std::optional<Owner> owner;
  std::optional<JobIdentity> job;
  std::string node, devices;
  Waiting why;                          // what Slurm last said of its wait
  std::int64_t start_s = 0, end_s = 0;  // unix; 0 = not known
  std::uint32_t running = 0;            // tasks, by the workers' last beats
  bool worker_linked = false;  // one of them at least
  Cause reason;                // why it is in this state
  std::uint32_t waiting = 0;   // tasks not yet sent, by its request's last demand
  bool release_asked = false;
  TimePoint born{}, since{};   // since: in this state
  TimePoint not_before{};      // wanted: it is not asked for earlier
  std::uint32_t workers_ready = 0;
};

}  // namespace pounce::lease
