#include "pouncectl/node_cells.h"

#include <algorithm>
#include <map>

#include "base/join.h"
#include "pouncectl/lease_row.h"

namespace pounce::ctl {
namespace {

constexpr std::size_t kShortUuid = 12;  // "GPU-1a2b3c4d"

std::string shortened(const std::string& uuid) { return uuid.substr(0, kShortUuid); }

std::string slurms_gpus(const NodeUse& node) {
  return joined(node.gpus, ", ", [](const GpuUse& gpu) {
    return std::to_string(gpu.free) + " of " + std::to_string(gpu.total) + (gpu.type.empty() ? "" : " " + gpu.type);
  });
}

std::string health_of_gpu(const model::GpuRow& gpu) {
  if (!gpu.failed.empty()) return "failed";
  return gpu.uncorrected_errors > 0 ? counted(static_cast<std::uint64_t>(gpu.uncorrected_errors), "ECC error") : "ok";
}

}  // namespace

std::vector<Node> nodes_of(const std::vector<model::NodeRow>& leased, const std::vector<NodeUse>& slurms) {
  std::map<std::string, Node> nodes;
  for (const model::NodeRow& one : leased) nodes[one.node] = Node{one};
  for (const NodeUse& one : slurms) {
    Node& node = nodes[one.name];
    node.node = one.name;
    node.in_slurm = true;
    node.slurm = one;
  }
  std::vector<Node> sorted;
  for (auto& [name, node] : nodes) sorted.push_back(std::move(node));
  return sorted;
}

std::string health_of(const Node& node) {
  std::vector<std::string> words;
  for (const model::GpuRow& gpu : node.gpus)
    if (!gpu.failed.empty()) words.push_back(shortened(gpu.uuid) + " failed");
  if (words.empty() && node.avoided_until_s == 0 && !node.gpus.empty()) words.push_back("ok");
  if (node.avoided_until_s > 0) words.push_back("avoided");
  if (node.in_slurm && !node.slurm.takes_work) words.push_back("takes no work");
  return joined(words);
}

std::vector<Cells> node_cells(const std::vector<Node>& nodes, std::int64_t now_s) {
  std::vector<Cells> cells = {{"NODE", "LEASES", "GPUS FREE", "GPUDIRECT STORAGE", "HEALTH", "AVOIDED FOR", "WHY"}};
  for (const Node& node : nodes) {
    const double left = static_cast<double>(node.avoided_until_s - now_s);
    cells.push_back({node.node, node.leases > 0 ? std::to_string(node.leases) : "", slurms_gpus(node.slurm), node.gpu_direct_storage, health_of(node),
                     node.avoided_until_s > 0 ? in_words(left) : "", node.trouble});
  }
  return cells;
}

std::vector<Cells> device_cells(const std::vector<Node>& nodes) {
  std::vector<Cells> cells = {{"NODE", "GPU", "MODEL", "SLICE", "MEMORY", "NUMA", "NVLINK TO", "DRIVER", "HEALTH"}};
  for (const Node& node : nodes)
    for (const model::GpuRow& gpu : node.gpus)
      cells.push_back({node.node, shortened(gpu.uuid), gpu.model, gpu.slice, gpu.memory_mib > 0 ? std::to_string(gpu.memory_mib) + " MiB" : "",
                       gpu.numa_node >= 0 ? std::to_string(gpu.numa_node) : "", joined(gpu.nvlink, ", ", shortened), gpu.driver, health_of_gpu(gpu)});
  return cells;
}

}  // namespace pounce::ctl
