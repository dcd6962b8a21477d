// The status document's nodes: those of this instance's workers with their driver's reports, and the avoided ones.
// Pure.
#pragma once

#include <vector>

#include "model/gpu_row.h"
#include "pounced/leases/avoided_nodes.h"
#include "pounced/leases/utilisation_log.h"

namespace pounce::daemon {

// Sorted by name.
std::vector<model::NodeRow> node_rows(const UtilisationLog& uses, const AvoidedNodes& avoided, TimePoint now);

}  // namespace pounce::daemon
