#include "pouncectl/allocation_cells.h"

#include <algorithm>
#include <tuple>

#include "base/join.h"
#include "pouncectl/lease_row.h"

namespace pounce::ctl {
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

bool is_said(const AllocatedJob& job, const LeaseStates& states) { return !job.lease.empty() && !states.contains(job.job); }

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
