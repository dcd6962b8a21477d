// How long an idle lease is kept for the next call, and who goes earlier because somebody waits: one whose variables are
// saved almost at once, one that would lose some after its usual time. Owns when the queue is looked at: only while there
// is a lease that may go (a loop that can be left counts, and is looked after less often), never more than once an
// interval however many there are, half as often where Slurm finds it a burden. Where the jobs of others are hidden
// (blind) leases are kept a short time instead. Thread: loop.
#pragma once

#include <vector>

#include "core/lease/rule_context.h"
#include "core/lease/step_yield.h"

namespace pounce::lease {

class IdleReuse {
 public:
  IdleReuse(Context& context, StepYield& steps) : context_(context), steps_(steps) {}

  bool unneeded(const Lease& lease) const;  // it serves, or starts, and nothing waits for it or runs on it
  Duration kept() const;                    // how long such a lease is kept in all
  bool reusable(const Lease& lease) const;  // kept while nobody waits for it
  bool blind() const { return blind_; }

  // Those that have to go for somebody who waits, in that order; loops that have to be left are told so.
  std::vector<Lease*> wanted_by_others(const QueueSnapshotTaken& event);
  void settle();  // orders a look when it is due

 private:
  Duration yields_after(const Lease& lease) const;  // idle, to somebody who waits
  std::vector<Lease*> reusable_leases() const;  // the longest idle first
  std::vector<SlurmJobId> leaving() const;
  std::vector<Lease*> wanted(const QueueSnapshot& look, const std::vector<Lease*>& may_go) const;  // of these, by who waits
  void plan_next_look(const QueueSnapshotTaken& event);

  Context& context_;
  StepYield& steps_;
  TimePoint begun_{}, at_{};
  Duration wait_{};
  int failed_ = 0;  // in a row
  bool under_way_ = false, blind_ = false;
};

}  // namespace pounce::lease
