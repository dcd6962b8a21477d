// All rules of one core, and nothing else: which rule hears which event, and in which order the rules look at the time.
// Declared from below: a rule knows only those above it here, so there is no circle. Only the core's own files and
// their tests include this. Thread: loop.
#pragma once

#include <functional>

#include "core/lease/daemon_life.h"
#include "core/lease/demand.h"
#include "core/lease/early_release.h"
#include "core/lease/ending.h"
#include "core/lease/findings.h"
#include "core/lease/idle_reuse.h"
#include "core/lease/job_news.h"
#include "core/lease/lease_deadlines.h"
#include "core/lease/notices.h"
#include "core/lease/presence.h"
#include "core/lease/requests.h"
#include "core/lease/restart.h"
#include "core/lease/step_yield.h"
#include "core/lease/submission.h"
#include "core/lease/transitions.h"
#include "core/lease/workers.h"

namespace pounce::lease {

struct Rules {
  Rules(InstanceId instance, Defaults times, std::function<LeaseId()> new_lease_id)
      : context(instance, times), fresh_lease(std::move(new_lease_id)) {}

  void hear(const Event& event);
  void settle();  // every deadline once
  void settle(Lease& lease);

  Context context;
  const std::function<LeaseId()> fresh_lease;

  StepYield steps{context};
  IdleReuse idle{context, steps};
  Notices notices{context, idle};
  Transitions transitions{context, notices};
  Requests requests{context};
  Ending ending{context, transitions};
  Submission submission{context, notices, transitions, requests, ending};
  JobNews jobs{context, notices, transitions, requests, ending};
  Workers workers{context, notices, transitions, requests, ending, jobs};
  Demand demand{context, notices, transitions, ending, fresh_lease};
  Presence presence{context, notices, transitions, ending};
  Findings findings{context, notices, transitions, ending, jobs, demand};
  Restart restart{context};
  Release release{context, idle, transitions, requests, ending};
  LeaseDeadlines deadlines{context, idle, transitions, requests, ending};
  DaemonLife daemon{context};
};

}  // namespace pounce::lease
