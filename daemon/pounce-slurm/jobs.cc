// SPDX-License-Identifier: GPL-3.0-or-later
// Reading jobs from slurmctld, and the answers about this user's jobs.

#include "pounce-slurm/jobs.h"

#include <malloc.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <functional>
#include <iterator>
#include <string_view>

#include "job/job_tag.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/wait_details.h"
#include "slurm/questions.h"
#include "slurm/slurm_values.h"

namespace pounce::slurm {

void FreeJobs::operator()(job_info_msg_t* message) const {
  constexpr std::uint32_t kMany = 1000;
  [[maybe_unused]] const bool many = message->record_count > kMany;
  slurm_free_job_info_msg(message);
#ifdef __GLIBC__
  if (many) ::malloc_trim(0);
#endif
}

Result<Jobs> load_all_jobs(std::uint16_t flags) {
  job_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_jobs(0, &raw, SHOW_LOCAL | SHOW_ALL | flags)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  return Jobs(raw);
}

// Slurm leaves out the user name of some jobs. A site's user directory may be slow, so it is queried once per user.
std::string user_of(const slurm_job_info_t& job) {
  if (job.user_name != nullptr) return job.user_name;
  static std::map<uid_t, std::string> names;
  const auto [known, is_new] = names.try_emplace(job.user_id);
  if (is_new) {
    const passwd* entry = ::getpwuid(job.user_id);
    known->second = entry != nullptr ? entry->pw_name : std::to_string(job.user_id);
  }
  return known->second;
}

std::map<std::string, std::uint32_t> gpus_asked(std::string tres) {
  for (const std::string_view front : {"gres:", "gres/"})
    for (auto at = tres.find(front); at != std::string::npos; at = tres.find(front)) tres.erase(at, front.size());
  std::ranges::replace(tres, ';', ',');
  std::ranges::replace(tres, '=', ':');
  return gpus_of(tres);
}

// This user's jobs as views.

namespace {

// "gres:gpu:a100:2" or "gpu:a100:2": type and count of the last two parts.
void read_gpus(const std::string& tres, Resources& resources) {
  const auto at = tres.find("gpu");
  if (at == std::string::npos) return;
  std::string rest = tres.substr(at + 3, tres.find(',', at) - at - 3);
  const auto colon = rest.rfind(':');
  if (colon == std::string::npos) {
    resources.gpus = 1;
    return;
  }
  const std::string count = rest.substr(colon + 1);
  std::from_chars(count.data(), count.data() + count.size(), resources.gpus);
  if (colon > 1) resources.gpu_type = rest.substr(1, colon - 1);
}

// Slurm's figures are per node, ours per worker.
void share_out(Resources& resources, std::uint32_t tasks, std::uint32_t nodes) {
  if (tasks == NO_VAL || tasks < 2) return;
  resources.workers = tasks;
  if (nodes != NO_VAL && nodes > 1 && tasks % nodes == 0) resources.nodes = nodes;
  resources.gpus /= resources.workers_of_node();
  resources.memory_mib /= resources.workers_of_node();
}

// Clamps to the bounds of a request: Slurm's figures, or an admin's update of the job, may exceed them, and pounced
// would refuse to read them.
template <class Member>
void cut(const Bounds& bounds, Member& member) {
  if constexpr (requires { member.count(); })
    member = Member(std::clamp<std::int64_t>(member.count(), bounds.least, static_cast<std::int64_t>(bounds.most)));
  else if constexpr (std::integral<Member>)
    member =
        static_cast<Member>(std::clamp<std::uint64_t>(member, static_cast<std::uint64_t>(bounds.least), bounds.most));
}

Resources resources_of(const slurm_job_info_t& job) {
  Resources resources;
  resources.class_name = text(job.qos);
  read_gpus(text(job.tres_per_node), resources);
  // One of a kind may be Slurm's default and not a request, so it stays unset.
  if (job.cpus_per_task != NO_VAL16 && job.cpus_per_task > 1) resources.cpus = job.cpus_per_task;
  if (job.pn_min_memory != NO_VAL64 && (job.pn_min_memory & MEM_PER_CPU) == 0) resources.memory_mib = job.pn_min_memory;
  if (job.time_limit != NO_VAL && job.time_limit != INFINITE) resources.time = std::chrono::minutes(job.time_limit);
  share_out(resources, job.num_tasks, job.num_nodes);
  for_each_field(resources, [](const auto& field, auto& member) {
    if (field.bounds != Bounds{}) cut(field.bounds, member);
  });
  return resources;
}

// Removes types with count 0 from "gpu:a100:1(IDX:0),gpu:a100_3g.20gb:0(IDX:)": a node with several types lists all.
std::string devices_of(const slurm_job_info_t& job) {
  if (job.gres_detail_cnt == 0) {  // it waits: the request "gres:gpu:a100:1" or "gres/gpu:a100:1"
    const std::string request = text(job.tres_per_node);
    return request.starts_with("gres:") || request.starts_with("gres/") ? request.substr(5) : request;
  }
  std::string all = text(job.gres_detail_str[0]);
  constexpr std::string_view kNone = ":0(IDX:)";
  for (auto end = all.find(kNone); end != std::string::npos; end = all.find(kNone)) {
    const auto before = all.rfind(',', end);
    const auto begin = before == std::string::npos ? 0 : before;
    const auto rest = end + kNone.size();
    all.erase(begin, begin == 0 && rest < all.size() ? rest + 1 : rest - begin);
  }
  return all;
}

JobView view_of(const slurm_job_info_t& job) {
  JobView view;
  view.job_identity = {{job.job_id}, job.submit_time, job.restart_cnt};
  if (const auto tag = job::parse_job_tag(text(job.comment))) {
    view.instance = tag->instance;
    view.lease = tag->lease;
  }
  const MappedState mapped = map_job_state(job.job_state);
  view.name = text(job.name);
  view.class_name = text(job.qos);
  view.state = mapped.state;
  view.end = mapped.end;
  view.raw_state = job.job_state;
  view.state_name = text(slurm_job_state_string(job.job_state));
  // The free text says more if there is one: which nodes are unavailable, which constraint is bad.
  view.reason_word = text(compat::reason_text(job));
  view.reason = job.state_desc != nullptr ? job.state_desc : view.reason_word;
  if (is_being_prepared(job.job_state)) view.reason_word = view.reason = "Prolog";
  view.nodes = text(job.nodes);
  view.devices = devices_of(job);
  view.resources = resources_of(job);
  view.submit_time_s = time_or_zero(job.submit_time);
  view.start_time_s = time_or_zero(job.start_time);
  view.end_time_s = time_or_zero(job.end_time);
  view.preempt_time_s = time_or_zero(job.preempt_time);
  view.exit_code = static_cast<int>((job.exit_code >> 8) & 0xff);
  view.signal = static_cast<int>(job.exit_code & 0x7f);
  return view;
}

// Views of `wanted` jobs only: a user may have thousands of others, and explaining one wait needs the whole queue.
using Wanted = std::function<bool(const slurm_job_info_t&)>;

std::vector<JobView> views_of(const job_info_msg_t& message, const Wanted& wanted) {
  std::vector<const slurm_job_info_t*> jobs;
  std::vector<JobView> views;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    if (!wanted(message.job_array[i])) continue;
    jobs.push_back(&message.job_array[i]);
    views.push_back(view_of(message.job_array[i]));
  }
  explain_waits(jobs, views);
  return views;
}

// SHOW_LOCAL halves the cost: no federation query (gotchas S10). SHOW_DETAIL tells which GPUs a running job has.
constexpr std::uint16_t kShow = SHOW_LOCAL | SHOW_DETAIL;

Result<std::vector<JobView>> load_user(const Wanted& wanted) {
  job_info_msg_t* message = nullptr;
  if (const int code = slurm_code(slurm_load_job_user(&message, ::geteuid(), kShow)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  return views_of(*Jobs(message), wanted);
}

}  // namespace

Result<std::vector<JobView>> load_one(SlurmJobId job) {
  job_info_msg_t* message = nullptr;
  const int code = slurm_code(compat::load_job(&message, job.value, kShow));
  if (code == ESLURM_INVALID_JOB_ID) return std::vector<JobView>{};
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return views_of(*Jobs(message), [](const slurm_job_info_t&) { return true; });
}

namespace {

// Slurm reuses job numbers. A requeued job keeps its number and gets a new submit time and a higher restart count.
bool same_job(const JobView& seen, const JobIdentity& wanted) {
  if (seen.job_identity.job != wanted.job) return false;
  return wanted.submit_time_s == 0 || seen.job_identity.submit_time_s == wanted.submit_time_s ||
         seen.job_identity.restart > wanted.restart;
}

}  // namespace

Result<std::vector<JobView>> answer(const Poll& question) {
  const std::vector<JobIdentity>& wanted = question.jobs;
  if (wanted.empty()) return std::vector<JobView>{};
  // One RPC for any number of jobs: this user's jobs, or the one job.
  const auto is_wanted = [&](const slurm_job_info_t& job) {
    return std::ranges::find(wanted, SlurmJobId{job.job_id}, &JobIdentity::job) != wanted.end();
  };
  auto loaded = wanted.size() == 1 ? load_one(wanted.front().job) : load_user(is_wanted);
  if (!loaded) return loaded;
  std::vector<JobView> views;
  std::vector<JobIdentity> forgotten;
  for (const JobIdentity& job : wanted) {
    const auto found = std::ranges::find_if(*loaded, [&](const JobView& view) { return same_job(view, job); });
    if (found != loaded->end())
      views.push_back(*found);
    else
      forgotten.push_back(job);
  }
  std::ranges::move(final_states(forgotten), std::back_inserter(views));
  tell_not_started(views, question.unheard);
  return views;
}

Result<std::vector<JobView>> answer(const Reconcile& question) {
  auto views = load_user([&](const slurm_job_info_t& job) {
    const auto tag = job::parse_job_tag(text(job.comment));
    return tag && tag->instance == question.instance;
  });
  if (views) tell_not_started(*views, question.unheard);
  return views;
}

Result<std::vector<JobView>> answer(const AskQueue&) {
  return load_user([](const slurm_job_info_t& job) {
    return job::parse_job_tag(text(job.comment)) && map_job_state(job.job_state).state != JobState::kEnded;
  });
}

}  // namespace pounce::slurm
