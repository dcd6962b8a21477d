// Where a request has room in a cluster, now or ever, and which GPUs our own jobs wait for.

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "policy/placement_choice.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

struct Has {
  std::uint32_t cpus;
  std::uint64_t memory_mib;
  std::uint32_t GpuUse::* gpus;
};

// Without a type Slurm mixes types.
std::uint32_t gpus_of(const NodeUse& node, std::uint32_t GpuUse::* which, const std::string& type) {
  std::uint32_t gpus = 0;
  for (const GpuUse& gpu : node.gpus)
    if (type.empty() || gpu.type == type) gpus += gpu.*which;
  return gpus;
}

bool enough(const NodeUse& node, const Has& has, const Resources& resources, const std::string& type) {
  const std::uint64_t cpus = std::max<std::uint64_t>(resources.node_cpus(), resources.workers_of_node());
  if (has.cpus < cpus || has.memory_mib < resources.node_memory_mib()) return false;
  return resources.node_gpus() == 0 || gpus_of(node, has.gpus, type) >= resources.node_gpus();
}

std::uint64_t times_enough(const NodeUse& node, const Has& has, const Resources& one, const std::string& type) {
  std::uint64_t times = has.cpus / std::max(one.cpus, 1u);
  if (one.memory_mib > 0) times = std::min(times, has.memory_mib / one.memory_mib);
  if (one.gpus > 0) times = std::min<std::uint64_t>(times, gpus_of(node, has.gpus, type) / one.gpus);
  return times;
}

Has all_of(const NodeUse& node) { return {node.cpus, node.memory_mib, &GpuUse::total}; }
Has free_of(const NodeUse& node) { return {node.cpus_free, node.memory_free_mib, &GpuUse::free}; }

}  // namespace

Nodes nodes_for(const ClusterSnapshot& cluster_snapshot, const std::string& partition) {
  // If Slurm hides partitions (PrivateData=partitions), no node's partition is known, and Slurm decides.
  const bool shown =
      std::ranges::any_of(cluster_snapshot.nodes, [](const NodeUse& node) { return !node.partitions.empty(); });
  const std::string wanted = !shown ? "" : partition.empty() ? cluster_snapshot.default_partition : partition;
  Nodes nodes;
  for (const NodeUse& node : cluster_snapshot.nodes)
    if ((wanted.empty() || std::ranges::count(node.partitions, wanted) > 0) &&
        std::ranges::count(cluster_snapshot.not_nodes, node.name) == 0)
      nodes.push_back(&node);
  return nodes;
}

bool can_hold(const NodeUse& node, const Resources& resources, const std::string& type) {
  return enough(node, all_of(node), resources, type);
}

bool has_room(const NodeUse& node, const Resources& resources, const std::string& type) {
  return node.takes_work && enough(node, free_of(node), resources, type);
}

bool enough_can_hold(const Nodes& nodes, const Resources& resources, const std::string& type) {
  return std::ranges::count_if(nodes, [&](const NodeUse* node) { return can_hold(*node, resources, type); }) >=
         resources.nodes;
}

bool enough_have_room(const Nodes& nodes, const Resources& resources, const std::string& type) {
  return std::ranges::count_if(nodes, [&](const NodeUse* node) { return has_room(*node, resources, type); }) >=
         resources.nodes;
}

std::uint64_t workers_held(const Nodes& nodes, const Resources& one, const std::string& type) {
  std::uint64_t workers = 0;
  for (const NodeUse* node : nodes) workers += times_enough(*node, all_of(*node), one, type);
  return workers;
}

std::uint64_t workers_with_room(const Nodes& nodes, const Resources& one, const std::string& type) {
  std::uint64_t workers = 0;
  for (const NodeUse* node : that_take_work(nodes)) workers += times_enough(*node, free_of(*node), one, type);
  return workers;
}

Nodes that_take_work(const Nodes& nodes) {
  Nodes working;
  std::ranges::copy_if(nodes, std::back_inserter(working), &NodeUse::takes_work);
  return working;
}

std::uint64_t free_gpus(const Nodes& nodes, const std::string& type) {
  std::uint64_t gpus = 0;
  for (const NodeUse* node : that_take_work(nodes)) gpus += gpus_of(*node, &GpuUse::free, type);
  return gpus;
}

std::vector<std::string> gpu_types_of(const Nodes& nodes) {
  std::set<std::string> types;
  for (const NodeUse* node : nodes)
    for (const GpuUse& gpu : node->gpus) types.insert(gpu.type);
  return {types.begin(), types.end()};
}

namespace {

// "32 CPUs, 128GB of memory, 4 GPUs (a100, v100)": the largest amount of each on any node.
std::string largest(const Nodes& nodes) {
  std::uint32_t cpus = 0, gpus = 0;
  std::uint64_t memory = 0;
  for (const NodeUse* node : nodes) {
    std::uint32_t of_node = 0;
    for (const GpuUse& gpu : node->gpus) of_node += gpu.total;
    cpus = std::max(cpus, node->cpus);
    gpus = std::max(gpus, of_node);
    memory = std::max(memory, node->memory_mib);
  }
  auto named = gpu_types_of(nodes);
  std::erase(named, "");
  const std::string types = joined(named);
  return std::to_string(cpus) + " CPUs, " + memory_text(memory) + " of memory, " + std::to_string(gpus) +
         (gpus == 1 ? " GPU" : " GPUs") + (types.empty() ? "" : " (" + types + ")");
}

std::string what_fits(const Resources& resources, const Nodes& nodes) {
  if (nodes.empty()) return "Leave fewer nodes out, or name another class.";
  if (resources.nodes > 1) return "Ask for fewer nodes, or less of each: one has at most " + largest(nodes) + ".";
  const std::string one = "Ask for what one node has: at most " + largest(nodes);
  if (resources.workers == 1) return one + ".";
  const std::string workers = std::to_string(resources.workers);
  return one +
         "; or for workers on several nodes: " + (resources.gang > 0 ? "nodes=." : "workers=\"0:" + workers + "\".");
}

// Ranks of a gang are one job and cannot be separate leases.
bool fits_apart(const Resources& resources, const Nodes& nodes) {
  return resources.workers > 1 && resources.nodes == 1 && resources.gang == 0 &&
         enough_can_hold(nodes, resources.apart(), resources.gpu_type);
}

}  // namespace

void tell_what_fits(Error& error, const Resources& resources, const Nodes& nodes) {
  error.remedy = what_fits(resources, nodes);
  error.fits_apart = fits_apart(resources, nodes);
}

namespace {

void add(GpuCounts& counts, const Resources& resources) {
  if (resources.gpus > 0 && !resources.gpu_type.empty()) counts[resources.gpu_type] += resources.all_gpus();
}

}  // namespace

GpuCounts awaited_gpus(const std::vector<JobView>& jobs, const std::map<LeaseId, Resources>& chosen) {
  GpuCounts counts;
  std::set<LeaseId> told;
  for (const JobView& job : jobs) {
    if (job.lease) told.insert(*job.lease);
    if (job.state == JobState::kQueued) add(counts, job.resources);
  }
  for (const auto& [lease, resources] : chosen)
    if (!told.contains(lease)) add(counts, resources);
  return counts;
}

}  // namespace pounce::policy
