// SPDX-License-Identifier: GPL-3.0-or-later
// Slurm's nodes. Thread: main.
#pragma once

#include <cstdint>
#include <memory>

#include "slurm_compat.h"

namespace pounce::slurm {

struct FreeNodes {
  void operator()(node_info_msg_t* message) const { slurm_free_node_info_msg(message); }
};
using Nodes = std::unique_ptr<node_info_msg_t, FreeNodes>;

// Nothing new starts on the others, whatever is free there.
inline bool takes_work(std::uint32_t state) {
  constexpr std::uint32_t kNot = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_MAINT;
  const std::uint32_t base = state & NODE_STATE_BASE;
  return (state & kNot) == 0 && (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED);
}

}  // namespace pounce::slurm
