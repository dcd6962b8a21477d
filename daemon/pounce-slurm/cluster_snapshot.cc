// SPDX-License-Identifier: GPL-3.0-or-later
// The cluster's nodes: their resources, what of them is free, and their partitions. Thread: main.
#include "class_report.h"
#include "nodes.h"
#include "slurm/questions.h"
#include "values.h"

namespace pounce::slurm {
namespace {

NodeUse use_of(const node_info_t& node) {
  const NodeAmounts amounts = amounts_of(node);
  NodeUse use;
  use.name = text(node.name);
  use.partitions = words_of(text(node.partitions));
  use.takes_work = takes_work(node.node_state);
  use.cpus = amounts.cpus;
  use.memory_mib = amounts.memory_mib;
  use.gpus = gpus_of_node(node);
  if (!use.takes_work) {
    for (GpuUse& gpu : use.gpus) gpu.free = 0;
    return use;
  }
  use.cpus_free = amounts.cpus_free;
  use.memory_free_mib = amounts.memory_free_mib;
  return use;
}

// Slurm's nodes do not name their partitions; libslurm joins the two.
Result<std::vector<NodeUse>> load_nodes_of(const Partitions& partitions) {
  const auto message = load_nodes(SHOW_DETAIL);
  if (!message) return failure(message.error());
  if (*message && partitions) slurm_populate_node_partitions(message->get(), partitions.get());
  std::vector<NodeUse> nodes;
  for (const node_info_t& node : nodes_in(*message))
    if (node.name != nullptr) nodes.push_back(use_of(node));
  return nodes;
}

}  // namespace

Result<ClusterSnapshot> answer(const AskClusterSnapshot& question) {
  const auto partitions = load_partitions(SHOW_ALL);
  if (!partitions) return failure(partitions.error());
  auto nodes = load_nodes_of(*partitions);
  if (!nodes) return failure(nodes.error());
  auto report = class_report();
  if (!report) return failure(report.error());
  ClusterSnapshot cluster_snapshot{{}, std::move(*report), std::move(*nodes), node_names(question.not_nodes)};
  for (const partition_info_t& one : partitions_in(*partitions))
    if ((one.flags & PART_FLAG_DEFAULT) != 0) cluster_snapshot.default_partition = text(one.name);
  return cluster_snapshot;
}

}  // namespace pounce::slurm
