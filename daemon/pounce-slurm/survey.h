// SPDX-License-Identifier: GPL-3.0-or-later
// The cluster's nodes, one by one: what they have, what of it is free, and where their jobs come from. Thread: main.
#pragma once

#include <string>

#include "pounce/cluster.h"
#include "pounce/result.h"

namespace pounce::slurm {

Result<Survey> survey(const std::string& not_nodes);

}  // namespace pounce::slurm
