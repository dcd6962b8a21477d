// SPDX-License-Identifier: GPL-3.0-or-later
// All users' waiting and running jobs, as far as Slurm shows them to this user. Thread: main.
#include <algorithm>
#include <map>
#include <tuple>

#include "facts.h"
#include "gpus.h"
#include "job/job_tag.h"
#include "jobs.h"
#include "slurm/gres.h"
#include "slurm/questions.h"
#include "slurm/slurm_job_state.h"
#include "values.h"

namespace pounce::slurm {
namespace {

// The GPUs that a job holds on all nodes, or that a waiting job requests.
std::map<std::string, std::uint32_t> gpus_of(const slurm_job_info_t& job) {
  std::map<std::string, std::uint32_t> gpus;
  for (std::uint32_t node = 0; node < job.gres_detail_cnt; ++node)
    for (const auto& [type, count] : slurm::gpus_of(text(job.gres_detail_str[node])))
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
  held.gpus = gpus_of(job);
  held.submit_s = time_or_zero(job.submit_time);
  held.start_s = time_or_zero(job.start_time);
  if (held.running && is_set(job.time_limit)) held.end_s = time_or_zero(job.end_time);
  if (!held.running) held.reason = text(compat::reason_text(job));
  if (const auto tag = job::parse_job_tag(text(job.comment))) held.lease = tag->lease.hex();
  return held;
}

// Merges equal waiting jobs into one row: an answer could not hold each job of a long queue.
class Waiting {
 public:
  explicit Waiting(std::vector<AllocatedJob>& jobs) : jobs_(jobs) {}

  void add(AllocatedJob job) {
    const auto [known, is_new] = places_.try_emplace({job.class_name, job.reason, job.gpus}, jobs_.size());
    if (is_new) return jobs_.push_back(std::move(job));
    AllocatedJob& all = jobs_[known->second];
    ++all.count;
    all.submit_s = std::min(all.submit_s, job.submit_s);
  }

 private:
  std::vector<AllocatedJob>& jobs_;
  std::map<std::tuple<std::string, std::string, std::map<std::string, std::uint32_t>>, std::size_t> places_;
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

}  // namespace pounce::slurm
