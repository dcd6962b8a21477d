// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpus.h"

#include <map>
#include <string>

#include "nodes.h"

namespace pounce::slurm {

Result<std::vector<GpuUse>> gpus_of_cluster() {
  const auto message = load_nodes(SHOW_DETAIL);
  if (!message) return failure(message.error());
  std::map<std::string, GpuUse> by_type;
  for (const node_info_t& node : nodes_in(*message)) {
    for (const GpuUse& of_node : gpus_of_node(node)) {
      GpuUse& use = by_type[of_node.type];
      use.type = of_node.type;
      use.total += of_node.total;
      if (takes_work(node.node_state)) use.free += of_node.free;
    }
  }
  std::vector<GpuUse> gpus;
  for (const auto& [type, use] : by_type) gpus.push_back(use);
  return gpus;
}

}  // namespace pounce::slurm
