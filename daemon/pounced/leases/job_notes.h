// Writes the comment of a lease's job. Slurm's accounting keeps it, and every user's `pouncectl usage` reads it. The
// comment is written while the job lives, because Slurm accepts none for an ended job. Thread: loop.
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
  std::string last_;  // the last note sent
};

}  // namespace pounce::daemon
