// When a lease that has a job ends for time's sake: no interpreter in time, idle for too long, nobody's, a silent worker.
// Owns the lease's mark that its silence was noted; the times themselves are written by whoever hears something.
// Thread: loop.
#pragma once

#include <optional>

#include "core/lease/ending.h"
#include "core/lease/idle_reuse.h"
#include "core/lease/requests.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class LeaseDeadlines {
 public:
  LeaseDeadlines(Context& context, const IdleReuse& idle, Transitions& transitions, Requests& requests, Ending& ending)
      : context_(context), idle_(idle), transitions_(transitions), requests_(requests), ending_(ending) {}

  void settle(Lease& lease);  // a queued, starting, idle or busy one

 private:
  bool worker_lost(const Lease& lease);
  std::optional<Error> passed(const Lease& lease);
  void note_silence(Lease& lease);

  Context& context_;
  const IdleReuse& idle_;
  Transitions& transitions_;
  Requests& requests_;
  Ending& ending_;
};

}  // namespace pounce::lease
