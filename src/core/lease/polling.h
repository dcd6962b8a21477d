// When Slurm is asked about the jobs that are on their way in or out, or whose worker is silent. Owns the time of the
// next poll and the wait that widens from one to the next. What the answer means is JobNews' matter. Thread: loop.
#pragma once

#include "core/lease/defaults.h"
#include "core/lease/lease_table.h"
#include "core/lease/step.h"

namespace pounce::lease {

class Polling {
 public:
  Polling(Step& step, const Defaults& times, const LeaseTable& leases) : step_(step), times_(times), leases_(leases) {}

  void soon(Duration wait);  // something has changed: ask then, and often at first
  void closely();            // a worker's connection is gone: ask now, and again and again for a while
  bool answered();           // false: nobody had asked
  void settle();             // orders the poll when it is due; one at a time, for all jobs

 private:
  bool to_poll(const Lease& lease) const;
  static void add(const Lease& lease, PollJobs& poll);

  Step& step_;
  const Defaults& times_;
  const LeaseTable& leases_;
  bool under_way_ = false;
  TimePoint at_ = TimePoint::max();
  Duration wait_{};
  TimePoint closely_until_{};
};

}  // namespace pounce::lease
