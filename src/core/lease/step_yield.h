// Busy leases that go to who waits: those whose task is in a loop of pounce.steps, which it leaves between two steps, has
// its variables saved and goes on with elsewhere. Asked only when somebody has waited for step_yield_after, and never
// before the loop has run for step_min_run here, so that nobody's work is moved about all the time. The worker, not this
// core, gives the lease up: its loop may end first. Thread: loop.
#pragma once

#include <vector>

#include "core/lease/rule_context.h"

namespace pounce::lease {

class StepYield {
 public:
  explicit StepYield(Context& context) : context_(context) {}

  std::vector<Lease*> leases() const;              // that somebody else could have, the longest in its loop first
  void look_shows(const std::vector<Lease*>& wanted);  // these by somebody who waits, and no others
  Duration look_every() const;
  void settle();

 private:
  bool may_be_left(const Lease& lease) const;
  void tell(Lease& lease);

  Context& context_;
};

}  // namespace pounce::lease
