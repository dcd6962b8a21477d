// The status document's nodes: where this instance's workers are, with what their driver told, and which are avoided. Pure.
#pragma once

#include <vector>

#include "model/gpu_row.h"
#include "pounced/leases/avoided_nodes.h"
#include "pounced/leases/utilisation_log.h"

namespace pounce::daemon {

std::vector<model::NodeRow> node_rows(const UtilisationLog& uses, const AvoidedNodes& avoided, TimePoint now);  // by name

}  // namespace pounce::daemon
