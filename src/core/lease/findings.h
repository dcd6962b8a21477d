// What a reconciliation shows: every job that carries this instance's tag. It resolves doubts, adopts what is not known,
// cancels what is too much, and is the only proof of absence. Owns the count of answers that did not show a lease's job.
// Another instance's jobs are never touched. Thread: loop.
#pragma once

#include "core/lease/demand.h"
#include "core/lease/ending.h"
#include "core/lease/job_news.h"
#include "core/lease/notices.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Findings {
 public:
  Findings(Context& context, Notices& notices, Transitions& transitions, Ending& ending, JobNews& jobs, Demand& demand)
      : context_(context), notices_(notices), transitions_(transitions), ending_(ending), jobs_(jobs), demand_(demand) {}

  void on(const ReconcileDone& event);

 private:
  void found(const JobView& view);
  void over_already(Lease& lease, const JobView& view);
  void remember_end(const JobView& view);
  void missed(Lease& lease);
  Lease& adopt(const JobView& view);
  bool may_be_absent(const Lease& lease) const;

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Ending& ending_;
  JobNews& jobs_;
  Demand& demand_;
};

}  // namespace pounce::lease
