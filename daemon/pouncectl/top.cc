// pouncectl top: the cluster's running jobs, free GPUs, and queue.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "pouncectl/allocation_cells.h"
#include "pouncectl/class_cells.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

// From this machine's daemon, if one runs: Slurm does not know whether a worker is busy.
LeaseStates own_states() {
  LeaseStates states;
  const auto status = ask_status();
  if (!status) return states;
  for (const LeaseRow& row : lease_rows(*status))
    if (row.job != 0 && (row.state == "idle" || row.state == "busy")) states[row.job] = row.state;
  return states;
}

json or_null(std::int64_t stamp) { return stamp == 0 ? json() : json(stamp); }

json as_json(const Allocations& allocations, const LeaseStates& states) {
  json document = {{"cluster", allocations.cluster},
                   {"only_own_jobs", allocations.hides_others},
                   {"jobs", json::array()},
                   {"waiting", json::array()},
                   {"gpus", json::array()}};
  for (const AllocatedJob& job : by_weight(allocations.jobs)) {
    const auto state = states.find(job.job);
    document["jobs"].push_back({{"user", job.user},
                                {"class", job.class_name},
                                {"job", job.job},
                                {"name", job.name},
                                {"node", job.node},
                                {"gpus", job.gpus},
                                {"cpus", job.cpus},
                                {"lease", job.lease.empty() ? json() : json(job.lease)},
                                {"lease_is_said", is_said(job, states)},
                                {"state", state == states.end() ? json() : json(state->second)},
                                {"batch", job.batch},
                                {"start_s", or_null(job.start_s)},
                                {"end_s", or_null(job.end_s)}});
  }
  for (const ClassQueue& queue : queues_of(allocations.jobs))
    document["waiting"].push_back({{"class", queue.class_name},
                                   {"jobs", queue.jobs},
                                   {"gpus", queue.gpus},
                                   {"oldest_s", or_null(queue.oldest_s)},
                                   {"reasons", queue.reasons}});
  for (const GpuUse& gpu : allocations.gpus)
    document["gpus"].push_back({{"type", gpu.type}, {"total", gpu.total}, {"free", gpu.free}});
  return document;
}

void print(const Allocations& allocations, const LeaseStates& states) {
  const std::int64_t now = std::time(nullptr);
  const auto held = by_weight(allocations.jobs);
  const auto queues = queues_of(allocations.jobs);
  std::cout << columns(gpu_cells(allocations.gpus)) << '\n';
  std::cout << (held.empty() ? "no job runs\n" : columns(held_cells(held, states, now)));
  std::cout << '\n' << (queues.empty() ? "no job waits\n" : columns(queue_cells(queues, now)));
  if (allocations.hides_others) std::cout << "\nThis Slurm shows you your own jobs only (PrivateData).\n";
}

}  // namespace

int top(const TopOptions& options, bool json_wanted) {
  while (true) {
    const auto allocations = ask_slurm(slurm::AskAllocations{});
    if (!allocations) return report(allocations.error(), json_wanted);
    const auto states = own_states();
    if (json_wanted) {
      print_json(as_json(*allocations, states), options.every == 0 ? 2 : -1);
    } else {
      if (options.every > 0 && ::isatty(STDOUT_FILENO) != 0) std::cout << "\033[H\033[2J";
      print(*allocations, states);
      std::cout.flush();
    }
    if (options.every == 0) return kOk;
    std::this_thread::sleep_for(std::chrono::seconds(options.every));
  }
}

}  // namespace pounce::ctl
