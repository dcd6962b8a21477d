// pouncectl classes, nodes and top: what the cluster has, what is free, and who holds the rest.

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/cluster_tables.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {

// pouncectl classes: what this user may use now, and which GPUs are free.

namespace {

using nlohmann::json;

// Slurm's limit, its use and its rest; nulls without a limit.
json amount(std::int64_t most, std::int64_t used) {
  return {{"most", most < 0 ? json() : json(most)},
          {"used", used},
          {"left", most < 0 ? json() : json(std::max<std::int64_t>(most - used, 0))}};
}

json as_json(const protocol::ClassesIs& answer) {
  json document = {{"launcher", answer.launcher}, {"classes", json::array()}, {"gpus", json::array()}};
  for (const ClassUse& one : answer.classes)
    document["classes"].push_back({{"class", one.name},
                                   {"default", one.preset},
                                   {"time_min", one.time_min < 0 ? json() : json(one.time_min)},
                                   {"running_jobs", amount(one.jobs_most, one.jobs_used)},
                                   {"jobs", amount(one.submits_most, one.submits_used)},
                                   {"gpus", amount(one.gpus_most, one.gpus_used)},
                                   {"gpus_of_one_job", one.gpus_job < 0 ? json() : json(one.gpus_job)}});
  for (const GpuUse& one : answer.gpus)
    document["gpus"].push_back({{"type", one.type}, {"total", one.total}, {"free", one.free}});
  return document;
}

}  // namespace

int classes(bool json_wanted) {
  const auto daemon = find_daemon();
  if (!daemon) return report(daemon.error(), json_wanted);
  const auto answer = ask(*daemon, protocol::ClassesAsk{1}, std::chrono::seconds(40));
  if (!answer) return report(answer.error(), json_wanted);
  const auto* known = std::get_if<protocol::ClassesIs>(&*answer);
  if (known == nullptr)
    return report(Error{ErrorCode::kProtocol, "pounced answered something else", {}, {}}, json_wanted);
  if (!known->error.empty()) return report(known->error, json_wanted);
  if (json_wanted)
    print_json(as_json(*known));
  else if (known->launcher == "local")
    std::cout << "no classes: work runs on this machine\n";
  else
    std::cout << (known->classes.empty()
                      ? "no classes: none is open to you, or this Slurm has no slurmdbd (pouncectl doctor)\n"
                      : columns(class_cells(known->classes)))
              << '\n'
              << columns(gpu_cells(known->gpus));
  return kOk;
}

// pouncectl nodes: the nodes of this daemon's leases with their GPUs as the driver reports them, the avoided nodes, and
// Slurm's other nodes.

namespace {

using nlohmann::json;

json as_json(const std::vector<Node>& nodes) {
  json document = {{"nodes", json::array()}};
  for (const Node& node : nodes) {
    json one = model::to_json<model::NodeRow>(node);
    one["health"] = health_of(node);
    one["slurm"] = node.in_slurm ? model::to_json(node.slurm) : json();
    document["nodes"].push_back(std::move(one));
  }
  return document;
}

// If Slurm does not answer, only the leases' nodes are listed.
std::vector<NodeUse> slurms_nodes(const model::StatusDocument& status) {
  if (status.launcher != "slurm") return {};
  auto snapshot = ask_slurm(slurm::AskClusterSnapshot{});
  if (snapshot) return std::move(snapshot->nodes);
  std::cerr << "Slurm's other nodes are not shown: " << snapshot.error().text << '\n';
  return {};
}

}  // namespace

int nodes(bool json_wanted) {
  const auto document = ask_status();
  if (!document) return report(document.error(), json_wanted);
  const auto status = model::parse<model::StatusDocument>(*document).value_or(model::StatusDocument{});
  const auto all = nodes_of(status.nodes, slurms_nodes(status));
  if (json_wanted) return print_json(as_json(all)), kOk;
  if (all.empty()) {
    std::cout << "no nodes: no lease here has a GPU whose driver tells of it, and none is avoided\n";
    return kOk;
  }
  std::cout << columns(node_cells(all, std::time(nullptr)));
  const auto devices = device_cells(all);
  if (devices.size() > 1) std::cout << '\n' << columns(devices);
  return kOk;
}

// pouncectl top: who holds what of the cluster now, which GPUs are free, and how much waits.

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
                                   {"leases", queue.leases},
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
