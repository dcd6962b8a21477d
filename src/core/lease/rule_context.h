// What the rules of one core work with: the step at hand (the time, where orders go), the times of the configuration, and
// the parts that remember. Each part owns its data; none of them knows a rule. Thread: loop.
#pragma once

#include "core/lease/defaults.h"
#include "core/lease/lease_table.h"
#include "core/lease/polling.h"
#include "core/lease/reachability.h"
#include "core/lease/reconciliation.h"
#include "core/lease/sessions.h"
#include "core/lease/step.h"

namespace pounce::lease {

struct Context : Step {
  Context(InstanceId which, Defaults defaults) : instance(which), times(defaults) {}
  Context(const Context&) = delete;

  const InstanceId instance;
  Defaults times;
  LeaseTable leases;
  Sessions sessions;
  Reachability slurm{*this};
  Polling polling{*this, times, leases};
  Reconciliation reconciliation{*this, times, leases, slurm};
};

}  // namespace pounce::lease
