// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpus.h"

#include <algorithm>
#include <map>
#include <string>

#include "nodes.h"
#include "slurm/gres.h"
#include "slurm_error.h"
#include "values.h"

namespace pounce::slurm {
namespace {

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
  const Nodes message(raw);
  std::map<std::string, GpuUse> by_type;
  for (std::uint32_t i = 0; i < message->record_count; ++i) add_node(message->node_array[i], by_type);
  std::vector<GpuUse> gpus;
  for (const auto& [type, use] : by_type) gpus.push_back(use);
  return gpus;
}

}  // namespace pounce::slurm
