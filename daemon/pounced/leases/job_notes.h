// What a lease's job says of itself in its comment, which Slurm's accounting keeps: for everybody's `pouncectl usage`. Said
// while the job lives: Slurm takes no more of one that has ended. Thread: loop.
#pragma once

#include <string>

#include "launch/launcher.h"
#include "pounced/leases/utilisation_log.h"

namespace pounce::daemon {

class JobNotes {
 public:
  JobNotes(const InstanceId& instance, const UtilisationLog& uses, launch::Launcher& launcher) : instance_(instance), uses_(uses), launcher_(launcher) {}

  void hold_begins(const LeaseId& lease);
  void ending(const LeaseId& lease);  // what it used

 private:
  void send(const LeaseId& lease, const std::string& note);

  const InstanceId instance_;
  const UtilisationLog& uses_;
  launch::Launcher& launcher_;
  std::string last_;  // that was sent
};

}  // namespace pounce::daemon
