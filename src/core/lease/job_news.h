// What Slurm says about one job, from a poll or a reconciliation, and what follows for its lease. Owns the lease's job and
// the facts about it. A state this build cannot name changes nothing; a job id means nothing without its restart count.
// Thread: loop.
#pragma once

#include <string>

#include "core/lease/ending.h"
#include "core/lease/notices.h"
#include "core/lease/requests.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class JobNews {
 public:
  JobNews(Context& context, Notices& notices, Transitions& transitions, Requests& requests, Ending& ending)
      : context_(context), notices_(notices), transitions_(transitions), requests_(requests), ending_(ending) {}

  void on(const Polled& event);
  void seen(Lease& lease, const JobView& view);
  // Its job has a higher restart count. False: what ran is lost, and the lease ends.
  bool requeued(Lease& lease, const JobIdentity& next);

 private:
  bool identify(Lease& lease, const JobView& view);
  void forget_workers(Lease& lease, const JobIdentity& next);
  void tell_lease(Lease& lease, const JobView& view);
  void runs(Lease& lease);
  void ends(Lease& lease, const JobView& view);
  Error reason_of_end(Lease& lease, const JobView& view);

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Requests& requests_;
  Ending& ending_;
};

}  // namespace pounce::lease
