// The cluster as tables: classes, GPUs, nodes, the jobs that hold and wait for them.

#include "pouncectl/cluster_tables.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "pouncectl/lease_row.h"

namespace pounce::ctl {
namespace {

// "3 of 4 left"
std::string left(std::int64_t most, std::int64_t used) {
  if (most < 0) return used > 0 ? "no limit, " + std::to_string(used) + " in use" : "no limit";
  if (most == 0) return "none";
  return std::to_string(std::max<std::int64_t>(most - used, 0)) + " of " + std::to_string(most) + " left";
}

}  // namespace

std::vector<Cells> class_cells(const std::vector<ClassUse>& classes) {
  std::vector<Cells> cells = {{"CLASS", "TIME", "RUNNING JOBS", "JOBS", "GPUS", "GPUS OF ONE JOB"}};
  for (const ClassUse& one : classes)
    cells.push_back(
        {one.name + (one.preset ? " (where none is named)" : ""),
         one.time_min < 0 ? "no limit" : in_words(static_cast<double>(one.time_min) * 60),
         left(one.jobs_most, one.jobs_used), one.submits_most < 0 ? "" : left(one.submits_most, one.submits_used),
         left(one.gpus_most, one.gpus_used), one.gpus_job < 0 ? "" : "at most " + std::to_string(one.gpus_job)});
  return cells;
}

std::vector<Cells> gpu_cells(const std::vector<GpuUse>& gpus) {
  std::vector<Cells> cells = {{"GPU", "FREE", "ALL"}};
  for (const GpuUse& one : gpus)
    cells.push_back({one.type.empty() ? "any" : one.type, std::to_string(one.free), std::to_string(one.total)});
  return cells;
}

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
    cells.push_back({node.node, node.leases > 0 ? std::to_string(node.leases) : "", slurms_gpus(node.slurm),
                     node.gpu_direct_storage, health_of(node), node.avoided_until_s > 0 ? in_words(left) : "",
                     node.trouble});
  }
  return cells;
}

std::vector<Cells> device_cells(const std::vector<Node>& nodes) {
  std::vector<Cells> cells = {{"NODE", "GPU", "MODEL", "SLICE", "MEMORY", "NUMA", "NVLINK TO", "DRIVER", "HEALTH"}};
  for (const Node& node : nodes)
    for (const model::GpuRow& gpu : node.gpus)
      cells.push_back({node.node, shortened(gpu.uuid), gpu.model, gpu.slice,
                       gpu.memory_mib > 0 ? std::to_string(gpu.memory_mib) + " MiB" : "",
                       gpu.numa_node >= 0 ? std::to_string(gpu.numa_node) : "", joined(gpu.nvlink, ", ", shortened),
                       gpu.driver, health_of_gpu(gpu)});
  return cells;
}

namespace {

std::uint32_t count(const std::map<std::string, std::uint32_t>& gpus) {
  std::uint32_t sum = 0;
  for (const auto& [type, number] : gpus) sum += number;
  return sum;
}

std::string kind(const AllocatedJob& job, const LeaseStates& states) {
  if (!job.lease.empty()) return (is_said(job, states) ? "said: pounce " : "pounce ") + short_id(job.lease);
  return (job.batch ? "batch " : "interactive ") + job.name;
}

std::string state(const AllocatedJob& job, const LeaseStates& states) {
  const auto known = states.find(job.job);
  return known == states.end() ? "runs" : known->second;
}

std::string span(std::int64_t from_s, std::int64_t to_s) {
  return from_s == 0 || to_s == 0 ? "" : in_words(static_cast<double>(std::max<std::int64_t>(to_s - from_s, 0)));
}

std::string listed(const std::map<std::string, std::uint32_t>& reasons) {
  return joined(reasons, ", ", [&](const auto& one) {
    return (reasons.size() > 1 ? std::to_string(one.second) + " " : std::string()) + one.first;
  });
}

}  // namespace

bool is_said(const AllocatedJob& job, const LeaseStates& states) {
  return !job.lease.empty() && !states.contains(job.job);
}

std::vector<AllocatedJob> by_weight(std::vector<AllocatedJob> jobs) {
  std::erase_if(jobs, [](const AllocatedJob& job) { return !job.running; });
  std::ranges::sort(jobs, [](const AllocatedJob& a, const AllocatedJob& b) {
    return std::tuple(count(b.gpus), a.start_s, a.job) < std::tuple(count(a.gpus), b.start_s, b.job);
  });
  return jobs;
}

std::vector<ClassQueue> queues_of(const std::vector<AllocatedJob>& jobs) {
  std::map<std::string, ClassQueue> queues;
  for (const AllocatedJob& job : jobs) {
    if (job.running) continue;
    ClassQueue& queue = queues[job.class_name];
    queue.class_name = job.class_name;
    queue.jobs += job.count;
    if (!job.lease.empty()) queue.leases += job.count;
    queue.gpus += count(job.gpus) * job.count;
    if (queue.oldest_s == 0 || job.submit_s < queue.oldest_s) queue.oldest_s = job.submit_s;
    queue.reasons[job.reason] += job.count;
  }
  std::vector<ClassQueue> sorted;
  for (auto& [name, queue] : queues) sorted.push_back(std::move(queue));
  return sorted;
}

std::string gpus_in_words(const std::map<std::string, std::uint32_t>& gpus) {
  return joined(gpus, ", ", [](const auto& one) {
    return std::to_string(one.second) + (one.first.empty() ? "" : " " + one.first);
  });
}

std::vector<Cells> held_cells(const std::vector<AllocatedJob>& jobs, const LeaseStates& states, std::int64_t now_s) {
  std::vector<Cells> cells = {{"USER", "CLASS", "JOB", "NODE", "GPUS", "CPUS", "STATE", "FOR", "LEFT", "WHAT"}};
  for (const AllocatedJob& job : jobs)
    cells.push_back({job.user, job.class_name, std::to_string(job.job), job.node, gpus_in_words(job.gpus),
                     std::to_string(job.cpus), state(job, states), span(job.start_s, now_s), span(now_s, job.end_s),
                     kind(job, states)});
  return cells;
}

std::vector<Cells> queue_cells(const std::vector<ClassQueue>& queues, std::int64_t now_s) {
  std::vector<Cells> cells = {{"CLASS", "WAITING", "GPUS", "LONGEST", "SLURM SAYS"}};
  for (const ClassQueue& queue : queues)
    cells.push_back({queue.class_name, std::to_string(queue.jobs), queue.gpus == 0 ? "" : std::to_string(queue.gpus),
                     span(queue.oldest_s, now_s), listed(queue.reasons)});
  return cells;
}

}  // namespace pounce::ctl
