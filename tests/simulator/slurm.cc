#include "simulator/slurm.h"

#include <algorithm>

#include "simulator/world.h"

namespace pounce::simulator {
namespace {

constexpr std::uint32_t kIds = 60;  // small, so that ids are used again
constexpr std::uint32_t kSlots = 4;
constexpr auto kMinJobAge = 20s;
constexpr auto kShownAfter = 30s;  // a search that misses it may be as old

Error unreachable(ErrorCode code) { return {code, "simulated", {}, {}}; }

}  // namespace

bool Slurm::shows(const LeaseId& lease) const {
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    return entry.second.view.lease == lease && alive(entry.second) &&
           world_.time.now() - entry.second.changed > kShownAfter;
  });
}

bool Slurm::down() const { return world_.time.now() < down_until_; }

template <class T>
void Slurm::request(std::function<Result<T>()> work, Reply<T> reply) {
  Random& random = world_.random;
  if (down()) {
    if (random.chance(500'000))
      return world_.time.in(1s, [reply] { reply(failure(unreachable(ErrorCode::kSlurmUnreachable))); });
    world_.time.at(down_until_ + random.between(1ms, 500ms), [work] { work(); });  // it was only stopped
    return world_.time.in(10s, [reply] { reply(failure(unreachable(ErrorCode::kOutcomeUnknown))); });
  }
  if (random.chance(world_.faults.lost_reply)) {
    if (random.chance(700'000)) world_.time.in(random.between(0ms, 9000ms), [work] { work(); });
    return world_.time.in(random.between(10ms, 10000ms),
                          [reply] { reply(failure(unreachable(ErrorCode::kOutcomeUnknown))); });
  }
  world_.time.in(random.between(1ms, 20ms), [this, work, reply] {
    Result<T> answer = work();
    world_.time.in(world_.random.between(1ms, 20ms), [reply, answer] { reply(answer); });
  });
}

void Slurm::submit(const InstanceId& instance, const LeaseId& lease, const Resources& resources,
                   Reply<JobIdentity> reply) {
  request<JobIdentity>(
      [=, this]() -> Result<JobIdentity> {
        if (resources.gpus > 8) return failure(ErrorCode::kUnsatisfiable, "no node has so many");
        return accept(instance, lease, resources);
      },
      std::move(reply));
}

JobIdentity Slurm::accept(const InstanceId& instance, const LeaseId& lease, const Resources& resources) {
  if (!submitted_.insert(lease).second) world_.fail("lease " + lease.hex() + " was submitted twice");
  while (jobs_.contains(SlurmJobId{next_id_})) next_id_ = next_id_ % kIds + 1;
  Job job;
  job.view.job_identity = {SlurmJobId{next_id_}, next_submit_s_++, 0};
  job.view.instance = instance;
  job.view.lease = lease;
  job.view.state = JobState::kQueued;
  job.view.resources = resources;
  job.view.resources.cpus = 4;  // as granted: more is said than was asked
  job.changed = world_.time.now();
  jobs_[job.view.job_identity.job] = job;
  JobIdentity told = job.view.job_identity;
  if (world_.random.chance(300'000)) told.submit_time_s = 0;  // libslurm's answer holds only the id
  return told;
}

void Slurm::cancel(const InstanceId& instance, const JobIdentity& which, Reply<void> reply) {
  request<void>(
      [=, this]() -> Result<void> {
        const auto found = jobs_.find(which.job);
        if (found == jobs_.end()) return {};
        Job& job = found->second;
        const bool same = which.submit_time_s == 0 || which.submit_time_s == job.view.job_identity.submit_time_s;
        if (!same || !alive(job)) return {};
        if (job.view.instance != instance) world_.fail("an instance cancelled another one's job");
        end(job, JobEnd::kCancelled, job.view.state == JobState::kQueued ? 0ms : world_.random.between(100ms, 20s));
        return {};
      },
      std::move(reply));
}

void Slurm::poll(const std::vector<JobIdentity>& jobs, Reply<std::vector<JobView>> reply) {
  request<std::vector<JobView>>(
      [=, this]() -> Result<std::vector<JobView>> {
        std::vector<JobView> views;
        for (const JobIdentity& job : jobs) views.push_back(answer(job));
        return views;
      },
      std::move(reply));
}

std::ptrdiff_t Slurm::waiting() const {
  return std::ranges::count_if(jobs_, [](const auto& entry) { return entry.second.view.state == JobState::kQueued; });
}

bool Slurm::hides() const { return world_.faults.unknown_state > 50'000; }

bool Slurm::runs(const JobIdentity& job) const {
  const auto found = jobs_.find(job.job);
  return found != jobs_.end() && found->second.view.state == JobState::kRunning;
}

bool Slurm::runs(const LeaseId& lease) const {
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    return entry.second.view.lease == lease && entry.second.view.state == JobState::kRunning;
  });
}

// Its one node has a slot for each job, whatever the job asks for.
void Slurm::look(const std::vector<JobIdentity>& ours, Reply<QueueSnapshot> reply) {
  request<QueueSnapshot>(
      [=, this]() -> Result<QueueSnapshot> {
        QueueSnapshot look;
        look.hidden = hides();
        look.nodes = {{"g1", {"gpu"}, {}, {}}};
        for (const auto& [id, job] : jobs_) {
          if (job.view.state == JobState::kQueued) look.waiting.push_back({{"gpu"}, "", {}, {}, 1, {{}, 1, 0}});
          if (job.view.state == JobState::kRunning &&
              std::ranges::count(ours, job.view.job_identity.job, &JobIdentity::job) > 0)
            look.held.push_back({job.view.job_identity, "g1", {{}, 1, 0}});
        }
        return look;
      },
      std::move(reply));
}

JobView Slurm::answer(const JobIdentity& asked) {
  const auto found = jobs_.find(asked.job);
  if (found != jobs_.end() &&
      (asked.submit_time_s == 0 || asked.submit_time_s == found->second.view.job_identity.submit_time_s))
    return shown(found->second);
  JobView gone;
  gone.job_identity = asked;
  gone.state = JobState::kEnded;
  gone.end = JobEnd::kGone;
  return gone;
}

void Slurm::reconcile(const InstanceId& instance, bool everybody, Reply<std::vector<JobView>> reply) {
  request<std::vector<JobView>>(
      [=, this]() -> Result<std::vector<JobView>> {
        std::vector<JobView> views;
        for (const auto& [id, job] : jobs_) {
          if (job.view.instance != instance && !everybody) continue;
          views.push_back(shown(job));
          if (everybody) views.back().instance = instance;
        }
        return views;
      },
      std::move(reply));
}

JobView Slurm::shown(const Job& job) {
  JobView view = job.view;
  if (world_.random.chance(world_.faults.unknown_state)) {
    view.state = JobState::kUnknown;
    view.end = JobEnd::kNone;
  }
  return view;
}

void Slurm::second() {
  if (world_.random.chance(world_.faults.slurm_down)) down_until_ = world_.time.now() + world_.random.between(1s, 20s);
  if (down()) return;
  std::uint32_t running = 0;
  std::vector<SlurmJobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const SlurmJobId id : ids) {
    Job& job = jobs_[id];
    if (job.view.state == JobState::kRunning) trouble(job);
    if (job.view.state == JobState::kRunning || job.view.state == JobState::kEnding) ++running;
    if (job.view.state == JobState::kEnded && world_.time.now() - job.changed > kMinJobAge) jobs_.erase(id);
  }
  for (auto& [id, job] : jobs_)
    if (job.view.state == JobState::kQueued && running < kSlots && world_.random.chance(600'000)) start(job), ++running;
}

void Slurm::start(Job& job) {
  job.view.state = JobState::kRunning;
  job.view.nodes = "g1";
  job.changed = world_.time.now();
  if (world_.random.chance(world_.faults.start_fail)) return end(job, JobEnd::kFailed, 100ms);
  world_.start_workers(job.view);
}

void Slurm::trouble(Job& job) {
  Random& random = world_.random;
  const Faults& faults = world_.faults;
  if (random.chance(faults.preempt)) return end(job, JobEnd::kPreempted, random.between(0ms, 5s));
  if (random.chance(faults.node_fail)) return end(job, JobEnd::kNodeFail, 0ms);
  if (random.chance(faults.walltime)) return end(job, JobEnd::kTimeout, random.between(0ms, 5s));
  if (random.chance(faults.scancel)) return end(job, JobEnd::kCancelled, random.between(0ms, 5s));
  if (random.chance(faults.out_of_memory)) return end(job, JobEnd::kOutOfMemory, 0ms);
  if (faults.start_twice > 0 && random.chance(faults.start_twice)) return world_.start_workers_twice(job.view);
  if (random.chance(faults.requeue)) {
    world_.kill_workers(job.view.job_identity.job);
    world_.ledger.lease(*job.view.lease).requeued = true;
    ++job.view.job_identity.restart;
    job.view.job_identity.submit_time_s = next_submit_s_++;
    job.view.state = JobState::kQueued;
  }
}

void Slurm::end(Job& job, JobEnd end, Millis killing) {
  const JobIdentity which = job.view.job_identity;
  world_.ledger.lease(*job.view.lease).ends.insert(end);
  world_.kill_workers(which.job);
  job.changed = world_.time.now();
  if (killing == 0ms) {
    job.view.state = JobState::kEnded;
    job.view.end = end;
    return;
  }
  job.view.state = JobState::kEnding;
  if (world_.random.chance(500'000)) job.view.end = end;  // Slurm shows the base state beside COMPLETING, or not yet
  world_.time.in(killing, [this, which, end] {
    const auto found = jobs_.find(which.job);
    if (found == jobs_.end() || found->second.view.job_identity != which) return;
    found->second.view.state = JobState::kEnded;
    found->second.view.end = end;
    found->second.changed = world_.time.now();
  });
}

void Slurm::worker_left(SlurmJobId id, JobEnd how) {
  const auto found = jobs_.find(id);
  if (found != jobs_.end() && found->second.view.state == JobState::kRunning)
    end(found->second, how, world_.random.between(50ms, 2s));
}

}  // namespace pounce::simulator
