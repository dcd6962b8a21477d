// SPDX-License-Identifier: GPL-3.0-or-later
// Slurm's nodes and partitions: read, and what of a node is there and free; the GPUs of the whole cluster. Thread:
// main.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "pounce-slurm/slurm_compat.h"
#include "pounce/error.h"

namespace pounce::slurm {

struct FreeNodes {
  void operator()(node_info_msg_t* message) const { slurm_free_node_info_msg(message); }
};
using Nodes = std::unique_ptr<node_info_msg_t, FreeNodes>;

struct FreePartitions {
  void operator()(partition_info_msg_t* message) const { slurm_free_partition_info_msg(message); }
};
using Partitions = std::unique_ptr<partition_info_msg_t, FreePartitions>;

// Empty if hidden from this user (PrivateData=nodes). SHOW_DETAIL adds what is free; SHOW_ALL adds hidden nodes.
Result<Nodes> load_nodes(std::uint16_t flags);
std::span<node_info_t> nodes_in(const Nodes& nodes);
// Empty if hidden from this user (PrivateData=partitions). SHOW_ALL adds hidden partitions.
Result<Partitions> load_partitions(std::uint16_t flags);
std::span<partition_info_t> partitions_in(const Partitions& partitions);

// No job starts on other nodes, even if something is free there.
bool takes_work(std::uint32_t state);
std::vector<GpuUse> gpus_of_node(const node_info_t& node);

struct NodeAmounts {
  std::uint32_t cpus = 0, cpus_free = 0;
  std::uint64_t memory_mib = 0, memory_free_mib = 0;
};
NodeAmounts amounts_of(const node_info_t& node);  // what is free for jobs; needs SHOW_DETAIL

std::vector<std::string> node_names(const std::string& list);  // "g[1-2],h1" -> g1, g2, h1

// The GPUs of the cluster: how many there are of each type, and how many are free on nodes that take work.
Result<std::vector<GpuUse>> gpus_of_cluster();

}  // namespace pounce::slurm
