// SPDX-License-Identifier: GPL-3.0-or-later
// Slurm's nodes and partitions, and the GPUs of the whole cluster.

#include "pounce-slurm/nodes.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "pounce-slurm/libslurm_values.h"
#include "slurm/slurm_values.h"

namespace pounce::slurm {

Result<Nodes> load_nodes(std::uint16_t flags) {
  node_info_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_load_node(0, &raw, flags));
  if (code == ESLURM_ACCESS_DENIED) return Nodes();
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return Nodes(raw);
}

std::span<node_info_t> nodes_in(const Nodes& nodes) {
  if (!nodes) return {};
  return {nodes->node_array, nodes->record_count};
}

Result<Partitions> load_partitions(std::uint16_t flags) {
  partition_info_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_load_partitions(0, &raw, flags));
  if (code == ESLURM_ACCESS_DENIED) return Partitions();
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return Partitions(raw);
}

std::span<partition_info_t> partitions_in(const Partitions& partitions) {
  if (!partitions) return {};
  return {partitions->partition_array, partitions->record_count};
}

bool takes_work(std::uint32_t state) {
  constexpr std::uint32_t kNot = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_MAINT;
  const std::uint32_t base = state & NODE_STATE_BASE;
  return (state & kNot) == 0 && (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED);
}

std::vector<GpuUse> gpus_of_node(const node_info_t& node) {
  const auto used = gpus_of(text(node.gres_used));
  std::vector<GpuUse> gpus;
  for (const auto& [type, count] : gpus_of(text(node.gres))) {
    const auto taken = used.find(type);
    gpus.push_back({type, count, count - std::min(count, taken == used.end() ? 0 : taken->second), {}});
  }
  return gpus;
}

NodeAmounts amounts_of(const node_info_t& node) {
  NodeAmounts amounts;
  amounts.cpus = node.cpus_efctv > 0 ? node.cpus_efctv : node.cpus;
  amounts.memory_mib = node.real_memory - std::min(node.real_memory, node.mem_spec_limit);
  const auto taken = compat::allocated_on(node);
  amounts.cpus_free = amounts.cpus - std::min(amounts.cpus, taken.cpus);
  amounts.memory_free_mib = amounts.memory_mib - std::min(amounts.memory_mib, taken.memory_mib);
  return amounts;
}

std::vector<std::string> node_names(const std::string& list) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  auto* hosts = slurm_hostlist_create(list.c_str());
  if (hosts == nullptr) return names;
  while (char* name = slurm_hostlist_shift(hosts)) {
    names.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(hosts);
  return names;
}

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
