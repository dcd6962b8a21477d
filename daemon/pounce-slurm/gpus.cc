// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpus.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "slurm/gres.h"
#include "slurm_error.h"
#include "values.h"

namespace pounce::slurm {
namespace {

struct FreeNodes {
  void operator()(node_info_msg_t* message) const { slurm_free_node_info_msg(message); }
};

// Nothing new starts on the others, whatever is free there.
bool takes_work(std::uint32_t state) {
  constexpr std::uint32_t kNot = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_MAINT;
  const std::uint32_t base = state & NODE_STATE_BASE;
  return (state & kNot) == 0 && (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED);
}

void add_node(const node_info_t& node, std::map<std::string, GpuUse>& gpus) {
  const auto used = gpus_of(text(node.gres_used));
  for (const auto& [type, count] : gpus_of(text(node.gres))) {
    GpuUse& use = gpus[type];
    use.type = type;
    use.total += count;
    const auto taken = used.find(type);
    if (takes_work(node.node_state)) use.free += count - std::min(count, taken == used.end() ? 0 : taken->second);
  }
}

}  // namespace

Result<std::vector<GpuUse>> gpus_of_cluster() {
  node_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_node(0, &raw, SHOW_DETAIL)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const std::unique_ptr<node_info_msg_t, FreeNodes> message(raw);
  std::map<std::string, GpuUse> by_type;
  for (std::uint32_t i = 0; i < message->record_count; ++i) add_node(message->node_array[i], by_type);
  std::vector<GpuUse> gpus;
  for (const auto& [type, use] : by_type) gpus.push_back(use);
  return gpus;
}

}  // namespace pounce::slurm
