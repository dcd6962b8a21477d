// The JSON document that answers `pouncectl status` (docs/protocol.md §6). Thread: loop.
#pragma once

#include <string>

#include "core/lease/lease_core.h"
#include "pounce/cluster.h"
#include "pounced/books.h"
#include "pounced/setup.h"
#include "pounced/site_policy.h"

namespace pounce::daemon {

struct StatusSources {
  const Setup& setup;
  const ClusterFacts& facts;
  const Books& books;
  const SitePolicy& policy;
};

// Fits into one message of the hall: with many leases the stories get shorter.
std::string status_document(const StatusSources& sources, const lease::LeaseCore& core, TimePoint now);

}  // namespace pounce::daemon
