#include "policy_simulator/batch_system.h"

namespace pounce::policy_simulator {
namespace {

constexpr auto kKeepsEnded = 5min;
constexpr std::size_t kLooked = 256;  // as in pounce-slurm: of a longer queue only the first jobs

std::uint32_t cpus_of(const Resources& resources) { return std::max(resources.cpus, 1u); }

}  // namespace

const ClassRule& BatchSystem::rule(const std::string& name) const {
  return *std::ranges::find(site_.classes, name, &ClassRule::name);
}

Result<JobIdentity> BatchSystem::submit(std::uint32_t user, const LeaseId& lease, const InstanceId& instance,
                                        const Resources& resources, OnJob started, OnJob ended) {
  const ClassRule& limits = rule(resources.class_name);
  if (resources.gpus > std::min(limits.gpus_per_user.value_or(site_.gpus_per_node), site_.gpus_per_node))
    return failure(ErrorCode::kUnsatisfiable, "class " + limits.name + " does not give so many GPUs");
  Job job;
  job.view.job_identity = {SlurmJobId{next_id_++}, time_.now().time_since_epoch() / 1s, 0};
  job.view.instance = instance;
  job.view.lease = lease;
  job.view.state = JobState::kQueued;
  job.view.class_name = resources.class_name;
  job.view.reason = job.view.reason_word = "Priority";
  job.view.resources = resources;
  job.user = user;
  job.priority = limits.priority;
  job.on_start = std::move(started);
  job.on_end = std::move(ended);
  const JobIdentity named = job.view.job_identity;
  of_user_[user].insert(named.job);
  line_.emplace(~job.priority, named.job);
  jobs_.emplace(named.job, std::move(job));
  plan_soon();
  return named;
}

// Like Slurm, plans at most once a second, and only after a change.
void BatchSystem::plan_soon() {
  if (std::exchange(plan_under_way_, true)) return;
  time_.in(1s, [this] {
    plan_under_way_ = false;
    plan();
  });
}

void BatchSystem::plan() {
  const auto line = line_;
  for (const auto& [rank, id] : line) {
    Job& job = jobs_.at(id);
    if (!allowed(job)) continue;
    job.view.reason = job.view.reason_word = "Resources";
    if (place(job)) start(job);
  }
}

bool BatchSystem::allowed(Job& job) {
  const ClassRule& limits = rule(job.view.class_name);
  const Use& use = use_[{job.user, limits.name}];
  if (!rules_.within_jobs(limits, use.jobs + 1)) {
    job.view.reason = job.view.reason_word = "QOSMaxJobsPerUserLimit";
    if (!std::exchange(job.waited_for_jobs, true)) ++day_.classes[limits.name].bound_by_jobs;
    return false;
  }
  if (!rules_.within_gpus(limits, use.gpus + job.view.resources.gpus)) {
    job.view.reason = job.view.reason_word = "QOSMaxGRESPerUser";
    if (!std::exchange(job.waited_for_gpus, true)) ++day_.classes[limits.name].bound_by_gpus;
    return false;
  }
  return true;
}

bool BatchSystem::place(Job& job) {
  const Resources& resources = job.view.resources;
  for (std::uint32_t node = 0; node < site_.nodes; ++node) {
    if (free_gpus_[node] < resources.gpus || free_cpus_[node] < cpus_of(resources)) continue;
    job.node = node;
    return true;
  }
  return false;
}

void BatchSystem::start(Job& job) {
  const Resources& resources = job.view.resources;
  line_.erase({~job.priority, job.view.job_identity.job});
  free_gpus_[job.node] -= resources.gpus;
  free_cpus_[job.node] -= cpus_of(resources);
  Use& use = use_[{job.user, job.view.class_name}];
  ++use.jobs, use.gpus += resources.gpus;
  job.view.state = JobState::kRunning;
  job.view.nodes = "n" + std::to_string(job.node);
  job.started = time_.now();
  ++day_.classes[job.view.class_name].leases;
  audit(job);
  const ClassRule& limits = rule(job.view.class_name);
  const auto time = resources.time.count() > 0 ? std::min(resources.time, limits.walltime) : limits.walltime;
  time_.in(time, [this, id = job.view.job_identity.job] { end(id, JobEnd::kTimeout); });
  job.on_start(job.view);
}

// Counts from the jobs themselves, not from the state used for decisions.
void BatchSystem::audit(const Job& job) {
  Use use;
  for (const SlurmJobId id : of_user_[job.user]) {
    const Job& other = jobs_.at(id);
    if (other.view.state != JobState::kRunning || other.view.class_name != job.view.class_name) continue;
    ++use.jobs, use.gpus += other.view.resources.gpus;
  }
  const ClassRule& limits = rule(job.view.class_name);
  ClassDay& counted = day_.classes[limits.name];
  counted.most_jobs = std::max(counted.most_jobs, use.jobs);
  counted.most_gpus = std::max(counted.most_gpus, use.gpus);
  const std::string who = "user " + std::to_string(job.user) + " has ";
  if (use.jobs > limits.jobs_per_user.value_or(use.jobs))
    day_.broken.push_back(who + std::to_string(use.jobs) + " jobs of class " + limits.name);
  if (use.gpus > limits.gpus_per_user.value_or(use.gpus))
    day_.broken.push_back(who + std::to_string(use.gpus) + " GPUs of class " + limits.name);
}

void BatchSystem::end(SlurmJobId id, JobEnd how) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.view.state == JobState::kEnded) return;
  if (!rules_.ends(how)) return;
  Job& job = found->second;
  const bool ran = job.view.state == JobState::kRunning;
  job.view.state = JobState::kEnded;
  job.view.end = how;
  line_.erase({~job.priority, id});
  if (ran) {
    const Resources& resources = job.view.resources;
    free_gpus_[job.node] += resources.gpus;
    free_cpus_[job.node] += cpus_of(resources);
    Use& use = use_[{job.user, job.view.class_name}];
    --use.jobs, use.gpus -= resources.gpus;
    day_.gpu_hours_leased +=
        resources.gpus * std::chrono::duration<double, std::ratio<3600>>(time_.now() - job.started).count();
  }
  job.on_end(job.view);
  plan_soon();
  time_.in(kKeepsEnded, [this, id, user = job.user] {
    of_user_[user].erase(id);
    jobs_.erase(id);
  });
}

JobView BatchSystem::view(SlurmJobId id) const {
  if (const auto found = jobs_.find(id); found != jobs_.end()) return found->second.view;
  JobView gone;
  gone.job_identity.job = id;
  gone.state = JobState::kEnded;
  gone.end = JobEnd::kGone;
  return gone;
}

std::vector<JobView> BatchSystem::jobs_of(std::uint32_t user) const {
  std::vector<JobView> views;
  if (const auto found = of_user_.find(user); found != of_user_.end())
    for (const SlurmJobId id : found->second) views.push_back(jobs_.at(id).view);
  return views;
}

Room BatchSystem::room_of(const Job& job) const {
  const Resources& resources = job.view.resources;
  Room room{{}, cpus_of(resources), 0};
  if (resources.gpus > 0) room.gpus["gpu"] = resources.gpus;
  return room;
}

QueueSnapshot BatchSystem::look(const std::vector<JobIdentity>& ours) const {
  QueueSnapshot look;
  for (const auto& [rank, id] : line_) {
    const Job& job = jobs_.at(id);
    if (look.waiting.size() == kLooked) break;
    if (job.view.reason_word != "Resources" && job.view.reason_word != "Priority") continue;
    RoomAsked request{{"all"}, "", {}, {}, 1, {{}, cpus_of(job.view.resources), 0}};
    if (job.view.resources.gpus > 0) request.each.gpus[""] = job.view.resources.gpus;
    look.waiting.push_back(std::move(request));
  }
  if (look.waiting.empty()) return look;
  for (const JobIdentity& one : ours) {
    const auto found = jobs_.find(one.job);
    if (found == jobs_.end() || found->second.view.state != JobState::kRunning) continue;
    look.held.push_back({one, found->second.view.nodes, room_of(found->second)});
  }
  for (std::uint32_t node = 0; node < site_.nodes; ++node)
    look.nodes.push_back({"n" + std::to_string(node), {"all"}, {}, {{{"gpu", free_gpus_[node]}}, free_cpus_[node], 0}});
  return look;
}

}  // namespace pounce::policy_simulator
