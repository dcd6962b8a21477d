// SPDX-License-Identifier: GPL-3.0-or-later
// All users' jobs from one read of the queue: who holds and waits for what, and who waits for room. Thread: main.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "job/job_tag.h"
#include "pounce-slurm/facts.h"
#include "pounce-slurm/jobs.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/nodes.h"
#include "pounce-slurm/wait_details.h"
#include "slurm/questions.h"
#include "slurm/slurm_values.h"

namespace pounce::slurm {

// The jobs that wait or run, as far as Slurm shows them to this user.

namespace {

// The GPUs that a job holds on all nodes, or that a waiting job requests.
std::map<std::string, std::uint32_t> gpus_held_by(const slurm_job_info_t& job) {
  std::map<std::string, std::uint32_t> gpus;
  for (std::uint32_t node = 0; node < job.gres_detail_cnt; ++node)
    for (const auto& [type, count] : gpus_of(text(job.gres_detail_str[node])))
      if (count > 0) gpus[type] += count;
  return gpus.empty() ? gpus_asked(text(job.tres_per_node)) : gpus;
}

AllocatedJob held(const slurm_job_info_t& job, JobState state) {
  AllocatedJob held;
  held.job = job.job_id;
  held.cpus = job.num_cpus;
  held.nodes = job.num_nodes;
  held.user = user_of(job);
  held.name = text(job.name);
  held.class_name = text(job.qos);
  held.node = text(job.nodes);
  held.running = state != JobState::kQueued;
  held.batch = job.batch_flag != 0;
  held.gpus = gpus_held_by(job);
  held.submit_s = time_or_zero(job.submit_time);
  held.start_s = time_or_zero(job.start_time);
  if (held.running && is_set(job.time_limit)) held.end_s = time_or_zero(job.end_time);
  if (!held.running) held.reason = text(compat::reason_text(job));
  if (const auto tag = job::parse_job_tag(text(job.comment))) held.lease = tag->lease.hex();
  return held;
}

// Merges equal waiting jobs into one row, those of pounce apart: an answer could not hold each job of a long queue.
class Waiting {
 public:
  explicit Waiting(std::vector<AllocatedJob>& jobs) : jobs_(jobs) {}

  void add(AllocatedJob job) {
    const auto [known, is_new] =
        places_.try_emplace({job.class_name, job.reason, !job.lease.empty(), job.gpus}, jobs_.size());
    if (is_new) return jobs_.push_back(std::move(job));
    AllocatedJob& all = jobs_[known->second];
    ++all.count;
    all.submit_s = std::min(all.submit_s, job.submit_s);
  }

 private:
  std::vector<AllocatedJob>& jobs_;
  std::map<std::tuple<std::string, std::string, bool, std::map<std::string, std::uint32_t>>, std::size_t> places_;
};

}  // namespace

Result<Allocations> answer(const AskAllocations&) {
  const auto site = read_site();
  if (!site) return failure(site.error());
  auto gpus = gpus_of_cluster();
  if (!gpus) return failure(gpus.error());
  const auto message = load_all_jobs(SHOW_DETAIL);
  if (!message) return failure(message.error());
  Allocations allocations;
  allocations.cluster = site->cluster;
  allocations.gpus = std::move(*gpus);
  allocations.hides_others = jobs_are_private() && ::geteuid() != 0 && ::geteuid() != site->slurm_user;
  Waiting waiting(allocations.jobs);
  for (std::uint32_t i = 0; i < (*message)->record_count; ++i) {
    const slurm_job_info_t& job = (*message)->job_array[i];
    const JobState state = map_job_state(job.job_state).state;
    if (state == JobState::kQueued)
      waiting.add(held(job, state));
    else if (state != JobState::kEnded)
      allocations.jobs.push_back(held(job, state));
  }
  return allocations;
}

// Which jobs wait for room, and what our own jobs hold: one read of the queue, and one of the nodes where a job waits.

namespace {

constexpr std::size_t kMostWaiting = 256;  // of a longer queue only the first jobs
constexpr std::chrono::minutes kPartitionsAreKnown{5};

template <class Number>
Number share(Number all, std::uint32_t parts) {
  return static_cast<Number>((all + parts - 1) / parts);
}

std::map<std::string, std::uint32_t> gpus_of_each_node(const slurm_job_info_t& job, std::uint32_t nodes) {
  if (auto gpus = gpus_asked(text(job.tres_per_node)); !gpus.empty()) return gpus;
  const std::uint32_t tasks = is_set(job.num_tasks) ? std::max(job.num_tasks, 1u) : 1;
  auto gpus = gpus_asked(text(job.tres_per_job));
  if (gpus.empty()) {
    gpus = gpus_asked(text(job.tres_per_task));
    for (auto& [type, count] : gpus) count *= tasks;
  }
  if (gpus.empty())
    if (const auto all = tres_count(text(job.tres_req_str), "gres/gpu"); all > 0)
      gpus[""] = static_cast<std::uint32_t>(all);
  for (auto& [type, count] : gpus) count = share(count, nodes);
  return gpus;
}

std::uint64_t memory_of_each_node(const slurm_job_info_t& job, std::uint32_t nodes, std::uint32_t cpus) {
  const std::uint64_t counted = share(tres_count(text(job.tres_req_str), "mem"), nodes);
  if (job.pn_min_memory == NO_VAL64) return counted;
  const std::uint64_t each = job.pn_min_memory & ~MEM_PER_CPU;
  return std::max(counted, (job.pn_min_memory & MEM_PER_CPU) != 0 ? each * cpus : each);
}

RoomAsked room_request_of(const slurm_job_info_t& job) {
  RoomAsked request;
  request.partitions = words_of(text(job.partition));
  request.features = text(job.features);
  request.only_nodes = node_names(text(job.req_nodes));
  request.not_nodes = node_names(text(job.exc_nodes));
  request.nodes = is_set(job.num_nodes) ? std::max(job.num_nodes, 1u) : 1;
  request.each.cpus = is_set(job.num_cpus) ? share(job.num_cpus, request.nodes) : 1;
  request.each.memory_mib = memory_of_each_node(job, request.nodes, request.each.cpus);
  request.each.gpus = gpus_of_each_node(job, request.nodes);
  request.own = job.user_id == ::geteuid();
  return request;
}

// A held job, or one that waits for a limit, another job or a time, has other reasons than these two.
bool waits_for_room(const slurm_job_info_t& job) {
  if ((job.job_state & JOB_STATE_BASE) != JOB_PENDING || job.priority == 0) return false;
  const std::string reason = text(compat::reason_text(job));
  return reason == "Resources" || reason == "Priority";
}

std::vector<RoomAsked> waiting_in(const job_info_msg_t& message) {
  std::vector<const slurm_job_info_t*> jobs;
  for (std::uint32_t i = 0; i < message.record_count; ++i)
    if (waits_for_room(message.job_array[i])) jobs.push_back(&message.job_array[i]);
  std::ranges::stable_sort(jobs, std::greater{}, [](const slurm_job_info_t* job) { return job->priority; });
  if (jobs.size() > kMostWaiting) jobs.resize(kMostWaiting);
  std::vector<RoomAsked> waiting;
  for (const slurm_job_info_t* job : jobs) waiting.push_back(room_request_of(*job));
  return waiting;
}

void add_held(const slurm_job_info_t& job, std::vector<RoomHeld>& held) {
  const auto names = node_names(text(job.nodes));
  const auto nodes = static_cast<std::uint32_t>(names.size());
  const std::string all = text(job.tres_alloc_str);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    RoomHeld one{{{job.job_id}, job.submit_time, job.restart_cnt}, names[i], {}};
    one.room.cpus = static_cast<std::uint32_t>(share(tres_count(all, "cpu"), nodes));
    one.room.memory_mib = share(tres_count(all, "mem"), nodes);
    if (i < job.gres_detail_cnt) one.room.gpus = gpus_of(text(job.gres_detail_str[i]));
    held.push_back(std::move(one));
  }
}

std::vector<RoomHeld> held_in(const job_info_msg_t& message, const std::vector<JobIdentity>& ours) {
  std::vector<RoomHeld> held;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    const slurm_job_info_t& job = message.job_array[i];
    const auto known = std::ranges::find(ours, SlurmJobId{job.job_id}, &JobIdentity::job);
    const bool holds = (job.job_state & JOB_STATE_BASE) == JOB_RUNNING || (job.job_state & JOB_COMPLETING) != 0;
    if (known != ours.end() && holds && (known->submit_time_s == 0 || known->submit_time_s == job.submit_time))
      add_held(job, held);
  }
  return held;
}

// slurmctld's nodes do not name their partitions.
Result<std::map<std::string, std::vector<std::string>>> partitions_by_node() {
  static std::map<std::string, std::vector<std::string>> known;
  static std::chrono::steady_clock::time_point again;
  const auto now = std::chrono::steady_clock::now();
  if (now < again) return known;
  const auto message = load_partitions(SHOW_ALL);
  if (!message) return failure(message.error());
  known.clear();
  for (const partition_info_t& one : partitions_in(*message))
    for (const std::string& node : node_names(text(one.nodes))) known[node].push_back(text(one.name));
  again = now + kPartitionsAreKnown;
  return known;
}

NodeRoom room_of(const node_info_t& node, const std::vector<std::string>& partitions) {
  NodeRoom room{text(node.name),
                partitions,
                words_of(text(node.features_act != nullptr ? node.features_act : node.features)),
                {}};
  for (const GpuUse& use : gpus_of_node(node)) room.free.gpus[use.type] = use.free;
  const NodeAmounts amounts = amounts_of(node);
  room.free.cpus = amounts.cpus_free;
  room.free.memory_mib = amounts.memory_free_mib;
  return room;
}

// Adds nodes on which our jobs run, and nodes with room: a job that can start there needs nothing of ours.
Result<void> add_nodes(QueueSnapshot& look) {
  const auto partitions = partitions_by_node();
  if (!partitions) return failure(partitions.error());
  const auto message = load_nodes(SHOW_DETAIL | SHOW_ALL);
  if (!message) return failure(message.error());
  look.hidden = *message == nullptr;  // without nodes it is unknown what would help waiting jobs
  for (const node_info_t& node : nodes_in(*message)) {
    // Only few users may use what is free on a reserved node.
    if (!takes_work(node.node_state) || (node.node_state & NODE_STATE_RES) != 0) continue;
    const auto of_node = partitions->find(text(node.name));
    NodeRoom room = room_of(node, of_node == partitions->end() ? std::vector<std::string>{} : of_node->second);
    const bool ours = std::ranges::find(look.held, room.name, &RoomHeld::node) != look.held.end();
    if (ours || room.free.cpus > 0) look.nodes.push_back(std::move(room));
  }
  return {};
}

}  // namespace

Result<QueueSnapshot> answer(const AskQueueSnapshot& question) {
  QueueSnapshot look;
  look.hidden = jobs_are_private();
  if (look.hidden) return look;
  const auto message = load_all_jobs(SHOW_DETAIL);
  if (!message) return failure(message.error());
  look.waiting = waiting_in(**message);
  look.held = held_in(**message, question.jobs);
  if (look.waiting.empty() || look.held.empty()) return look;
  if (const auto added = add_nodes(look); !added) return failure(added.error());
  return look;
}

}  // namespace pounce::slurm
