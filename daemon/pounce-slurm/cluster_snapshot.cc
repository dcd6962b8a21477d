// SPDX-License-Identifier: GPL-3.0-or-later
// What the cluster offers: the classes with what this user uses of them, the GPUs, the nodes. Thread: main.

#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <tuple>

#include "model/cluster.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/forecast.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/nodes.h"
#include "pounce/error.h"
#include "slurm/questions.h"

namespace pounce::slurm {

// What this user may use now: the classes with what is used of them, and the cluster's GPUs.
Result<ClassReport> class_report();

namespace {

template <class Number>
std::int64_t or_none(Number value) {
  return is_set(value) ? static_cast<std::int64_t>(value) : -1;
}

std::int64_t limit_at(const std::uint64_t* limits, std::uint32_t place, std::uint32_t count) {
  return limits == nullptr || place == count ? -1 : or_none(limits[place]);
}

ClassUse use_of(const assoc_mgr_info_msg_t& message, const slurmdb_qos_rec_t& qos) {
  const std::uint32_t gpus = place_of(message, "gres/gpu"), count = message.tres_cnt;
  ClassUse use;
  use.name = text(qos.name);
  use.time_min = or_none(qos.max_wall_pj);
  use.jobs_most = or_none(qos.max_jobs_pu);
  use.submits_most = or_none(qos.max_submit_jobs_pu);
  use.gpus_most = limit_at(qos.max_tres_pu_ctld, gpus, count);
  use.gpus_job = limit_at(qos.max_tres_pj_ctld, gpus, count);
  if (const auto* ours = used_by_us(qos)) {
    use.jobs_used = ours->jobs;
    use.submits_used = ours->submit_jobs;
    if (ours->tres != nullptr && gpus < count) use.gpus_used = static_cast<std::int64_t>(ours->tres[gpus]);
  }
  return use;
}

// A small job of the class, for a forecast if nothing is free.
forecast::AnyJob small_job(const std::string& class_name, const std::string& gpu_type, bool gpu) {
  constexpr double kHalfAnHour = 1800;
  forecast::AnyJob job;
  job.user = user_name();
  job.class_name = class_name;
  for (const auto& [partition, nodes] : latest_cluster().partitions) job.partitions.push_back(partition);
  job.things = {{"cpu", 1}};
  if (gpu) job.things["gpu"] = 1;
  if (!gpu_type.empty()) job.things["gpu:" + gpu_type] = 1;
  job.limit_s = kHalfAnHour;
  return job;
}

// Forecasts once per reading of the queue: every request without a class needs a report.
Eta eta_of_small_job(const std::string& class_name, const std::string& gpu_type, bool gpu) {
  struct Said {
    std::time_t of = 0;
    Eta eta;
  };
  static std::map<std::tuple<std::string, std::string, bool>, Said> said;
  Said& one = said[{class_name, gpu_type, gpu}];
  if (one.of != read_at()) one = {read_at(), eta_of_another(small_job(class_name, gpu_type, gpu))};
  return one.eta;
}

void expect_room(ClassReport& report, const std::string& class_name) {
  if (latest_cluster().nodes.empty()) return;  // hidden from this user
  const auto cpu_job = small_job(class_name, "", false);
  const auto free = free_of(latest_cluster(), cpu_job.partitions);
  if (const auto cpus = free.find("cpu"); cpus != free.end())
    report.cpus_free = static_cast<std::int32_t>(cpus->second);
  if (report.cpus_free == 0) report.cpu_eta = eta_of_small_job(class_name, "", false);
  for (GpuUse& use : report.gpus)
    if (use.free == 0 && use.total > 0) use.eta = eta_of_small_job(class_name, use.type, true);
}

}  // namespace

Result<ClassReport> class_report() {
  const std::string user = user_name();
  const auto message = load_associations_of_user(user);
  if (!message) return failure(message.error());
  const Classes classes = classes_in(**message, user);
  const auto gpus = gpus_of_cluster();
  if (!gpus) return failure(gpus.error());
  ClassReport report;
  report.gpus = *gpus;
  for_each<slurmdb_qos_rec_t>((*message)->qos_list, [&](const slurmdb_qos_rec_t& qos) {
    const auto known =
        std::ranges::find(classes.all, text(qos.name), [](const UserClass& one) { return one.limits.name; });
    if (known == classes.all.end() || !known->open) return;
    report.classes.push_back(use_of(**message, qos));
    report.classes.back().preset = report.classes.back().name == classes.default_class;
  });
  std::ranges::sort(report.classes, {}, &ClassUse::name);
  expect_room(report, classes.default_class);
  return report;
}

Result<ClassReport> answer(const AskClasses&) { return class_report(); }

// The nodes: what they have, what of it is free, and where their jobs come from.

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
