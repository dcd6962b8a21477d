// SPDX-License-Identifier: GPL-3.0-or-later
// What a forecast is computed from: all users' jobs, all nodes, and how long jobs really ran.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string>

#include "base/file_io.h"
#include "base/unique_fd.h"
#include "core/forecast/replay.h"
#include "pounce-slurm/facts.h"
#include "pounce-slurm/forecast.h"
#include "pounce-slurm/jobs.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/nodes.h"
#include "pounce-slurm/wait_details.h"
#include "slurm/slurm_values.h"

namespace pounce::slurm {

// How long jobs really ran, in a file of a hundred kilobytes at most, since this program may end at any moment. A hint:
// without it a forecast begins with no knowledge.
forecast::Runs read_runs();  // from the file of POUNCE_RUNS; empty if there is none
void write_runs(const forecast::Runs& runs);

namespace {

constexpr std::size_t kMostBytes = 4 << 20;  // more than all kept runs take

std::string path() {
  const char* named = std::getenv("POUNCE_RUNS");
  return named != nullptr ? named : "";
}

}  // namespace

forecast::Runs read_runs() {
  forecast::Runs runs;
  std::istringstream file(read_end(path(), kMostBytes));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    forecast::Run run;
    if (!(words >> run.job >> run.submit_s >> run.limit_s >> run.ran_s >> run.user)) continue;
    words >> run.class_name;  // empty without QoS
    runs.add(run);
  }
  return runs;
}

// Replaces the file atomically: this user's other daemons may read it at that moment. The last writer wins.
void write_runs(const forecast::Runs& runs) {
  const std::string file = path();
  if (file.empty()) return;
  std::ostringstream text;
  for (const forecast::Run& run : runs.all())
    text << run.job << ' ' << run.submit_s << ' ' << run.limit_s << ' ' << run.ran_s << ' ' << run.user << ' '
         << run.class_name << '\n';
  const std::string next = file + "." + std::to_string(::getpid());
  const UniqueFd out(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (out.get() >= 0 && write_all(out.get(), text.str()))
    std::rename(next.c_str(), file.c_str());
  else
    std::remove(next.c_str());
}

namespace {

using Clock = std::chrono::steady_clock;

std::time_t last_read = 0;
Clock::time_point again, soonest;
using forecast::Things;

// Slurm writes node lists as pairs of first and last index, terminated by -1.
std::vector<std::uint32_t> places_of(const std::int32_t* pairs) {
  std::vector<std::uint32_t> places;
  for (; pairs != nullptr && pairs[0] >= 0; pairs += 2)
    for (std::int32_t place = pairs[0]; place <= pairs[1]; ++place) places.push_back(static_cast<std::uint32_t>(place));
  return places;
}

void add_gpus(const std::map<std::string, std::uint32_t>& gpus, std::uint64_t times, Things& things) {
  std::uint64_t all = 0;
  for (const auto& [type, count] : gpus) {
    if (!type.empty()) things["gpu:" + type] += count * times;
    all += count * times;
  }
  if (all > 0) things["gpu"] = all;
}

Things things_of(const slurm_job_info_t& job, bool runs) {
  const std::string tres = text(runs ? job.tres_alloc_str : job.tres_req_str);
  Things things{{"cpu", tres_count(tres, "cpu")}, {"mem", tres_count(tres, "mem")}};
  if (runs)
    add_gpus(gpus_of(text(job.gres_total)), 1, things);
  else if (job.tres_per_node != nullptr)
    add_gpus(gpus_asked(job.tres_per_node), std::max<std::uint64_t>(is_set(job.num_nodes) ? job.num_nodes : 1, 1),
             things);
  else
    add_gpus(gpus_asked(text(job.tres_per_job)), 1, things);
  if (!things.contains("gpu")) things["gpu"] = tres_count(tres, "gres/gpu");
  return things;
}

// Counts the tasks of "1-10,15%4".
std::uint32_t tasks_of(const char* array) {
  std::uint32_t count = 0;
  for (const std::string& part : words_of(text(array))) {
    char* rest = nullptr;
    const auto first = std::strtoul(part.c_str(), &rest, 10);
    const auto last = *rest == '-' ? std::strtoul(rest + 1, nullptr, 10) : first;
    count += static_cast<std::uint32_t>(std::max(first, last) - first + 1);
  }
  return std::max(count, 1u);
}

double limit_s(const slurm_job_info_t& job) {
  constexpr double kYear = 365 * 86400.0;
  return is_set(job.time_limit) ? job.time_limit * 60.0 : kYear;
}

forecast::Cluster read_cluster(const job_info_msg_t& message, std::time_t now) {
  forecast::Cluster cluster;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    const slurm_job_info_t& job = message.job_array[i];
    const std::uint32_t state = job.job_state & JOB_STATE_BASE;
    if (state == JOB_PENDING || state == JOB_RUNNING || state == JOB_SUSPENDED) {
      cluster.jobs.push_back(any_job(job));
      if (state != JOB_PENDING) cluster.jobs.back().ran_s = std::difftime(now, job.start_time);
    }
  }
  if (const auto nodes = load_nodes(SHOW_ALL)) {
    for (const node_info_t& node : nodes_in(*nodes)) {
      Things things{{"cpu", node.cpus}, {"mem", node.real_memory}};
      add_gpus(gpus_of(text(node.gres)), 1, things);
      cluster.nodes.push_back({takes_work(node.node_state), std::move(things)});
    }
  }
  if (const auto partitions = load_partitions(SHOW_ALL)) {
    for (const partition_info_t& partition : partitions_in(*partitions)) {
      cluster.partitions[text(partition.name)] = places_of(partition.node_inx);
    }
  }
  return cluster;
}

forecast::Runs& kept_runs() {
  static forecast::Runs runs = read_runs();
  return runs;
}

// Learns run times: jobs that ended recently are still in Slurm's answer.
void learn(const job_info_msg_t& message) {
  bool learned = false;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    const slurm_job_info_t& job = message.job_array[i];
    if (text(job.nodes).empty()) continue;  // cancelled while waiting: Slurm sets a start and an end then too
    if ((job.job_state & JOB_STATE_BASE) <= JOB_SUSPENDED || job.start_time == 0 || job.end_time < job.start_time ||
        !is_set(job.time_limit))
      continue;
    if ((job.job_state & JOB_STATE_BASE) == JOB_NODE_FAIL || (job.job_state & JOB_STATE_BASE) == JOB_BOOT_FAIL)
      continue;
    learned |=
        kept_runs().add({job.job_id, user_of(job), text(job.qos), job.time_limit * 60ll,
                         static_cast<std::int64_t>(std::difftime(job.end_time, job.start_time)), job.submit_time});
  }
  if (learned) write_runs(kept_runs());
}

}  // namespace

bool competes(const std::string& reason) { return reason == "Priority" || reason == "Resources"; }

forecast::AnyJob any_job(const slurm_job_info_t& job) {
  forecast::AnyJob any;
  any.id = job.job_id;
  any.priority = job.priority;
  any.user = user_of(job);
  any.account = text(job.account);
  any.class_name = text(job.qos);
  any.partitions = words_of(text(job.partition));
  any.runs = (job.job_state & JOB_STATE_BASE) != JOB_PENDING;
  any.things = things_of(job, any.runs);
  any.limit_s = limit_s(job);
  const std::string reason = text(compat::reason_text(job));
  // "None": it will compete once Slurm has considered it.
  any.competes = !any.runs && (competes(reason) || reason == "None");
  any.count = any.runs ? 1 : tasks_of(job.array_task_str);
  if (any.runs) any.nodes = places_of(job.node_inx);
  return any;
}

std::time_t read_at() { return last_read; }

void took(Clock::duration time) {
  soonest = std::max(soonest, Clock::now() + 10 * time);
  again = std::max(again, soonest);
}

void want_newer() { again = std::min(again, soonest); }

const forecast::Runs& runs() { return kept_runs(); }

const forecast::Cluster& latest_cluster() {
  static forecast::Cluster cluster;
  const auto begin = Clock::now();
  if (begin < again || jobs_are_private()) return cluster;
  const auto message = load_all_jobs();
  if (!message) return cluster;
  learn(**message);
  last_read = std::time(nullptr);
  cluster = {};  // saves memory: never two copies beside Slurm's own
  cluster = read_cluster(**message, last_read);
  const auto end = Clock::now();
  again = end + 100 * (end - begin);
  soonest = end + 20 * (end - begin);
  return cluster;
}

}  // namespace pounce::slurm
