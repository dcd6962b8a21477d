// Tells workers when their job's time ends, as soon as the batch system has told us and whenever it changes: what a task
// reads as pounce.time_left(). Thread: loop.
#pragma once

#include "core/lease/actions.h"
#include "pounced/leases/core_driver.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/peers.h"

namespace pounce::daemon {

class Walltimes {
 public:
  Walltimes(Peers& peers, const CoreDriver& driver, ControlChannel& control) : peers_(peers), driver_(driver), control_(control) {}

  void hear(const lease::Action& action);  // the same change is behind what clients are told, and a new worker behind their admission

 private:
  void tell(Peer& worker);

  Peers& peers_;
  const CoreDriver& driver_;
  ControlChannel& control_;
};

}  // namespace pounce::daemon
