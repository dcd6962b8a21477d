// The JSON document that answers `pouncectl status` (docs/protocol.md §6). Thread: loop.
#pragma once

#include <string>
#include <vector>

#include "core/lease/lease_core.h"
#include "model/status_document.h"
#include "pounce/cluster.h"
#include "pounced/daemon_state.h"
#include "pounced/leases/site_policy.h"
#include "pounced/startup/setup.h"

namespace pounce::daemon {

struct StatusSources {
  const Setup& setup;
  const ClusterFacts& facts;
  const DaemonState& state;
  const SitePolicy& policy;
  std::vector<model::ListenerRow> listeners;
};

// The text fits into one message of the control channel: with many leases the histories are shortened.
std::string status_document(const StatusSources& sources, const lease::LeaseCore& core, TimePoint now);

}  // namespace pounce::daemon
