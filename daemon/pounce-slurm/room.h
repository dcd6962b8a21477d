// SPDX-License-Identifier: GPL-3.0-or-later
// Who waits for room, and what jobs of ours hold: one read of the queue, and one of the nodes where somebody waits.
// Thread: main.
#pragma once

#include <vector>

#include "pounce/result.h"
#include "pounce/room.h"

namespace pounce::slurm {

Result<QueueLook> look_at_queue(const std::vector<Incarnation>& ours);

}  // namespace pounce::slurm
