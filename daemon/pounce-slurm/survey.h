// SPDX-License-Identifier: GPL-3.0-or-later
// The cluster's nodes, one by one: what they have, what of it is free, and where their jobs come from. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<Survey> survey(const std::string& not_nodes);

std::vector<std::string> node_names(const std::string& list);  // "g[1-2],h1" -> g1, g2, h1

}  // namespace pounce::slurm
