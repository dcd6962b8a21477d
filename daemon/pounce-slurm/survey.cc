// SPDX-License-Identifier: GPL-3.0-or-later
#include "survey.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "class_report.h"
#include "nodes.h"
#include "slurm/gres.h"
#include "slurm_error.h"
#include "values.h"

namespace pounce::slurm {
namespace {

struct FreePartitions {
  void operator()(partition_info_msg_t* message) const { slurm_free_partition_info_msg(message); }
};
using Partitions = std::unique_ptr<partition_info_msg_t, FreePartitions>;

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> found;
  for (std::size_t start = 0; start < list.size();) {
    const auto comma = std::min(list.find(',', start), list.size());
    if (comma > start) found.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return found;
}

std::vector<GpuUse> gpus_of_node(const node_info_t& node) {
  const auto used = gpus_of(text(node.gres_used));
  std::vector<GpuUse> gpus;
  for (const auto& [type, count] : gpus_of(text(node.gres))) {
    const auto taken = used.find(type);
    gpus.push_back({type, count, count - std::min(count, taken == used.end() ? 0 : taken->second)});
  }
  return gpus;
}

NodeUse use_of(const node_info_t& node) {
  NodeUse use;
  use.name = text(node.name);
  use.partitions = words(text(node.partitions));
  use.takes_work = takes_work(node.node_state);
  use.cpus = node.cpus_efctv > 0 ? node.cpus_efctv : node.cpus;
  use.memory_mib = node.real_memory - std::min(node.real_memory, node.mem_spec_limit);
  use.gpus = gpus_of_node(node);
  if (!use.takes_work) {
    for (GpuUse& gpu : use.gpus) gpu.free = 0;
    return use;
  }
  const auto taken = compat::allocated_on(node);
  use.cpus_free = use.cpus - std::min(use.cpus, taken.cpus);
  use.memory_free_mib = use.memory_mib - std::min(use.memory_mib, taken.memory_mib);
  return use;
}

Result<Partitions> load_partitions() {
  partition_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_partitions(0, &raw, SHOW_ALL)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  return Partitions(raw);
}

// A node does not know its partitions: the library joins the two.
Result<std::vector<NodeUse>> load_nodes_of(partition_info_msg_t& partitions) {
  node_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_node(0, &raw, SHOW_DETAIL)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const Nodes message(raw);
  slurm_populate_node_partitions(message.get(), &partitions);
  std::vector<NodeUse> nodes;
  for (std::uint32_t i = 0; i < message->record_count; ++i)
    if (message->node_array[i].name != nullptr) nodes.push_back(use_of(message->node_array[i]));
  return nodes;
}

}  // namespace

std::vector<std::string> node_names(const std::string& list) {
  std::vector<std::string> names;
  auto* hosts = slurm_hostlist_create(list.c_str());
  if (hosts == nullptr) return names;
  while (char* name = slurm_hostlist_shift(hosts)) {
    names.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(hosts);
  return names;
}

Result<Survey> survey(const std::string& not_nodes) {
  const auto partitions = load_partitions();
  if (!partitions) return failure(partitions.error());
  auto nodes = load_nodes_of(**partitions);
  if (!nodes) return failure(nodes.error());
  auto report = class_report();
  if (!report) return failure(report.error());
  Survey survey{{}, std::move(*report), std::move(*nodes), node_names(not_nodes)};
  for (std::uint32_t i = 0; i < (*partitions)->record_count; ++i)
    if (((*partitions)->partition_array[i].flags & PART_FLAG_DEFAULT) != 0)
      survey.default_partition = text((*partitions)->partition_array[i].name);
  return survey;
}

}  // namespace pounce::slurm
