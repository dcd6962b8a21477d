// Tells workers when their job's walltime ends, as soon as the batch system reports it and whenever it changes. A
// task reads it as pounce.time_left(). Thread: loop.
#pragma once

#include "core/lease/actions.h"
#include "pounced/leases/core_driver.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/peers.h"

namespace pounce::daemon {

class Walltimes {
 public:
  Walltimes(Peers& peers, const CoreDriver& driver, ControlChannel& control) : peers_(peers), driver_(driver), control_(control) {}

  // A client's status may come from a changed end time, an admission from a new worker.
  void hear(const lease::Action& action);

 private:
  void tell(Peer& worker);

  Peers& peers_;
  const CoreDriver& driver_;
  ControlChannel& control_;
};

}  // namespace pounce::daemon
