#include "daemon_fuzzer/fake_launcher.h"

#include <algorithm>
#include <utility>

namespace pounce::daemon_fuzzer {
namespace {

constexpr int kMostAnswersAtOnce = 1000;  // a daemon that asks for ever would hold this test
constexpr std::uint32_t kMostGpus = 64;

const InstanceId kAnother = *InstanceId::from_hex("ffffffffffff");

bool lives(const JobView& view) { return view.state != JobState::kEnded; }

}  // namespace

FakeLauncher::FakeLauncher(InstanceId ours, PlantedBug planted, std::function<void(const JobSpec&)> on_submit,
                           std::function<void(std::string)> complain)
    : ours_(ours), planted_(planted), on_submit_(std::move(on_submit)), complain_(std::move(complain)) {
  add_foreign_job();
}

// Of another instance of this user: it is none of our daemon's business.
void FakeLauncher::add_foreign_job() {
  Job job;
  job.view.job_identity = {SlurmJobId{7}, 1, 0};
  job.view.instance = kAnother;
  job.view.lease = *LeaseId::from_hex("fefefefefefefefe");
  job.view.state = JobState::kRunning;
  jobs_[SlurmJobId{7}] = std::move(job);
}

void FakeLauncher::send(slurm::Question question, Reply<std::any> reply) {
  if (const auto* submit = std::get_if<slurm::Submit>(&question)) on_submit_(submit->spec);
  asked_.push_back({std::move(question), std::move(reply)});
}

void FakeLauncher::drop() {
  const auto unheard = std::exchange(asked_, {});
  if (health_ != Health::kLosesQuestions)
    for (const Asked& asked : unheard) static_cast<void>(answer_to(asked.question));
}

void FakeLauncher::answer() {
  for (int i = 0; i < kMostAnswersAtOnce && !asked_.empty(); ++i) {
    if (health_ == Health::kSlow) return;
    const Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (health_ == Health::kUnreachable) {
      asked.reply(failure(ErrorCode::kSlurmUnreachable, "slurmctld does not answer"));
      continue;
    }
    Result<std::any> answer = health_ == Health::kLosesQuestions ? Result<std::any>() : answer_to(asked.question);
    if (health_ != Health::kWell) answer = failure(ErrorCode::kOutcomeUnknown, "pounce-slurm has ended");
    asked.reply(std::move(answer));
  }
  if (!asked_.empty() && health_ != Health::kSlow) complain_("it asks the batch system for ever");
}

Result<std::any> FakeLauncher::answer_to(const slurm::Question& question) {
  if (const auto* asked = std::get_if<slurm::Submit>(&question)) {
    if (asked->spec.resources.gpus > kMostGpus) return failure(ErrorCode::kUnsatisfiable, "no node has so many");
    return std::any(submit(asked->spec));
  }
  if (const auto* asked = std::get_if<slurm::Cancel>(&question)) return cancel(asked->job), std::any(slurm::Done{});
  if (std::holds_alternative<slurm::Note>(question)) return std::any(slurm::Done{});
  if (const auto* asked = std::get_if<slurm::Poll>(&question)) {
    std::vector<JobView> views;
    for (const JobIdentity& job : asked->jobs) views.push_back(view_of(job));
    return std::any(std::move(views));
  }
  if (const auto* asked = std::get_if<slurm::Reconcile>(&question))
    return std::any(views([&](const Job& job) { return job.view.instance == asked->instance; }));
  if (std::holds_alternative<slurm::AskQueue>(question))
    return std::any(views([](const Job& job) { return lives(job.view); }));
  if (std::holds_alternative<slurm::AskClasses>(question)) return std::any(ClassReport{});
  if (std::holds_alternative<slurm::AskClusterSnapshot>(question)) return std::any(ClusterSnapshot{});
  if (std::holds_alternative<slurm::AskQueueSnapshot>(question)) return std::any(QueueSnapshot{});
  complain_("pounced asks what is not its business");
  return failure(ErrorCode::kBadRequest, "not for pounced");
}

JobIdentity FakeLauncher::submit(const JobSpec& spec) {
  if (!submitted_.insert(spec.lease).second) complain_("lease " + spec.lease.hex() + " is submitted twice");
  Job job;
  job.spec = spec;
  job.view.job_identity = {SlurmJobId{++last_job_}, ++last_time_s_, 0};
  job.view.instance = spec.instance;
  job.view.lease = spec.lease;
  job.view.name = spec.name;
  job.view.state = JobState::kQueued;
  job.view.state_name = "PENDING", job.view.reason = "Resources";
  job.view.resources = spec.resources;
  const JobIdentity identity = job.view.job_identity;
  jobs_[identity.job] = std::move(job);
  return identity;
}

void FakeLauncher::cancel(const JobIdentity& job) {
  const auto found = jobs_.find(job.job);
  if (found == jobs_.end() || found->second.view.job_identity != job) return;
  if (found->second.view.instance != ours_) complain_("it cancels a job of another instance");
  if (planted_ != PlantedBug::kCancelIgnored) end(found->second, JobEnd::kCancelled);
}

JobView FakeLauncher::view_of(const JobIdentity& job) const {
  const auto found = jobs_.find(job.job);
  const bool same = found != jobs_.end() &&
                    (job.submit_time_s == 0 || found->second.view.job_identity.submit_time_s == job.submit_time_s ||
                     found->second.view.job_identity.restart > job.restart);
  if (same) return found->second.view;
  JobView gone;
  gone.job_identity = job;
  gone.state = JobState::kEnded, gone.end = JobEnd::kGone;
  return gone;
}

std::vector<JobView> FakeLauncher::views(const std::function<bool(const Job&)>& of) const {
  std::vector<JobView> views;
  for (const auto& [id, job] : jobs_)
    if (of(job)) views.push_back(job.view);
  return views;
}

std::vector<SlurmJobId> FakeLauncher::living() const {
  std::vector<SlurmJobId> ids;
  for (const auto& [id, job] : jobs_)
    if (job.view.instance == ours_ && lives(job.view)) ids.push_back(id);
  return ids;
}

void FakeLauncher::start(Job& job) {
  job.view.state = JobState::kRunning;
  job.view.state_name = "RUNNING", job.view.reason = "";
  job.view.nodes = "g1";
  job.view.start_time_s = ++last_time_s_;
  job.view.end_time_s = last_time_s_ + 86'400;
}

void FakeLauncher::end(Job& job, JobEnd how) {
  if (!lives(job.view)) return;
  job.view.state = JobState::kEnded;
  job.view.state_name = "ENDED";
  job.view.end = how;
}

void FakeLauncher::requeue(Job& job) {
  ++job.view.job_identity.restart;
  job.view.job_identity.submit_time_s = ++last_time_s_;
  job.view.state = JobState::kQueued;
  job.view.state_name = "PENDING";
  job.view.nodes.clear();
}

void FakeLauncher::forget_ended() {
  std::erase_if(jobs_, [](const auto& entry) { return !lives(entry.second.view); });
}

}  // namespace pounce::daemon_fuzzer
