// What owners are told of their leases, and workers of their owners. Owns nothing: it reads what the other parts know.
// Repeated freely. Thread: loop.
#pragma once

#include <vector>

#include "core/lease/idle_reuse.h"
#include "core/lease/lease_view.h"
#include "core/lease/rule_context.h"

namespace pounce::lease {

class Notices {
 public:
  Notices(Context& context, const IdleReuse& idle) : context_(context), idle_(idle) {}

  void tell(const Lease& lease);
  // Slurm answered, or did not. Only the change is told; every pending lease's owner hears it.
  void slurm_answered(const Result<std::vector<JobView>>& jobs);
  // Owner and workers learn of each other.
  void introduce(const Lease& lease);
  void introduce(const Lease& lease, WorkerIndex index);

  LeaseView view_of(const Lease& lease) const;

 private:
  Cause why(const Lease& lease) const;  // it is in its state

  Context& context_;
  const IdleReuse& idle_;
};

}  // namespace pounce::lease
