#include "launch/local_launcher.h"

#include <glob.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/job_tag.h"
#include "launch/child_process.h"

namespace pounce::launch {
namespace {

constexpr std::size_t kEndedKept = 256;  // ended jobs remembered, as Slurm does for MinJobAge

bool has_gpu() {
  glob_t found{};
  const bool any = ::glob("/dev/nvidia[0-9]*", 0, nullptr, &found) == 0;
  ::globfree(&found);
  return any;
}

bool alive(const Incarnation& job) {
  const auto started = process_start_time(static_cast<pid_t>(job.job.value));
  return started && *started == job.submit_time_s;
}

void end_as(JobView& job, int status) {
  job.state = JobState::kEnded;
  job.state_name = "ENDED";
  job.end_time_s = std::time(nullptr);
  job.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  job.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  job.end = job.signal == SIGTERM || job.signal == SIGKILL ? JobEnd::kCancelled
            : job.signal == 0 && job.exit_code == 0        ? JobEnd::kCompleted
                                                           : JobEnd::kFailed;
}

JobView view_of(const JobSpec& spec, const Incarnation& job, const std::string& devices) {
  JobView view;
  view.incarnation = job;
  view.instance = spec.instance;
  view.lease = spec.lease;
  view.name = spec.name;
  view.class_name = spec.resources.class_name;
  view.state = JobState::kRunning;
  view.state_name = "RUNNING";
  view.nodes = "localhost";
  view.devices = devices;
  view.resources = spec.resources;
  view.submit_time_s = view.start_time_s = job.submit_time_s;
  return view;
}

}  // namespace

LocalLauncher::LocalLauncher(LocalOptions options) : options_(std::move(options)) { read_records(); }

void LocalLauncher::facts(Reply<ClusterFacts> reply) {
  ClusterFacts facts;
  facts.cluster = facts.version = "local";
  facts.controller_address = "127.0.0.1";
  facts.default_class = "cheetah";
  for (const char* name : {"cheetah", "lion", "panther", "tabby"}) facts.classes.push_back({name, {}, 0, 0});
  reply(std::move(facts));
}

void LocalLauncher::submit(const JobSpec& spec, Reply<Incarnation> reply) { reply(start(spec)); }

Result<Incarnation> LocalLauncher::start(const JobSpec& spec) {
  const std::uint32_t gpus = spec.resources.gpus;
  const bool stand_in = gpus > 0 && gpus <= options_.stand_in_gpus;
  if (gpus > 0 && !stand_in && !has_gpu())
    return failure(ErrorCode::kUnsatisfiable,
                   std::to_string(gpus) + " GPU(s) were asked for and this machine has none that pounce could use",
                   "Set stand_in_gpus in pounce's configuration to let the CPU stand in, or ask for no GPU.");
  const auto pid = start_detached(spec);
  if (!pid) return failure(pid.error());
  const Incarnation job{{static_cast<std::uint32_t>(*pid)}, process_start_time(*pid).value_or(std::time(nullptr)), 0};
  const std::string devices = stand_in ? kStandIn : gpus > 0 ? "gpu:" + std::to_string(gpus) : "";
  JobView view = view_of(spec, job, devices);
  keep_record(view);
  jobs_[job] = std::move(view);
  return job;
}

// A negative pid: the whole session that start_detached made. The supervisor ends its tree on TERM.
void LocalLauncher::cancel(const Incarnation& job, Reply<void> reply) {
  if (alive(job)) ::kill(static_cast<pid_t>(job.job.value), SIGTERM);
  reply({});
}

void LocalLauncher::refresh(JobView& job) {
  if (job.state == JobState::kEnded) return;
  int status = 0;
  const auto pid = static_cast<pid_t>(job.incarnation.job.value);
  if (::waitpid(pid, &status, WNOHANG) == pid)
    end_as(job, status);
  else if (!alive(job.incarnation))
    end_as(job, 0);  // not our child: how it ended is not known, that it ended is
  if (job.state == JobState::kEnded) std::filesystem::remove(record_path(job));
}

void LocalLauncher::poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) {
  std::vector<JobView> views;
  for (const Incarnation& wanted : jobs) {
    if (const auto known = jobs_.find(wanted); known != jobs_.end()) {
      refresh(known->second);
      views.push_back(known->second);
      continue;
    }
    JobView gone;
    gone.incarnation = wanted;
    gone.state = JobState::kEnded;
    gone.end = JobEnd::kGone;
    gone.state_name = "GONE";
    views.push_back(gone);
  }
  reply(std::move(views));
}

void LocalLauncher::sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) {
  std::vector<JobView> views;
  for (auto& [incarnation, job] : jobs_) {
    if (job.instance != instance) continue;
    refresh(job);
    views.push_back(job);
  }
  while (jobs_.size() > kEndedKept && jobs_.begin()->second.state == JobState::kEnded) jobs_.erase(jobs_.begin());
  reply(std::move(views));
}

void LocalLauncher::queue(Reply<std::vector<JobView>> reply) {
  std::vector<JobView> views;
  for (auto& [incarnation, job] : jobs_) {
    refresh(job);
    if (job.state != JobState::kEnded) views.push_back(job);
  }
  reply(std::move(views));
}

std::string LocalLauncher::record_path(const JobView& job) const {
  return options_.folder + "/job-" + std::to_string(job.incarnation.job.value);
}

// Three lines: start time and pid, tag, class and GPUs. Enough to find the job again and to know whose it is.
void LocalLauncher::keep_record(const JobView& job) {
  std::ofstream file(record_path(job), std::ios::trunc);
  file << job.incarnation.submit_time_s << ' ' << job.incarnation.job.value << '\n'
       << format_job_tag({*job.instance, *job.lease}) << '\n'
       << (job.class_name.empty() ? "-" : job.class_name) << ' ' << job.resources.gpus << ' ' << job.resources.cpus << ' '
       << job.resources.memory_mib << '\n'
       << job.devices << '\n';
}

void LocalLauncher::read_records() {
  std::error_code none;  // a folder that is not there yet holds no records
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, none)) {
    if (!entry.path().filename().string().starts_with("job-")) continue;
    std::ifstream file(entry.path());
    JobView job;
    std::string tag_text;
    file >> job.incarnation.submit_time_s >> job.incarnation.job.value >> tag_text >> job.class_name >>
        job.resources.gpus >> job.resources.cpus >> job.resources.memory_mib;
    file.ignore();
    std::getline(file, job.devices);
    const auto tag = parse_job_tag(tag_text);
    if (!tag || !alive(job.incarnation)) {
      std::filesystem::remove(entry.path(), none);
      continue;
    }
    if (job.class_name == "-") job.class_name.clear();
    job.resources.class_name = job.class_name;
    job.name = "pounce-" + job.class_name;
    job.instance = tag->instance;
    job.lease = tag->lease;
    job.state = JobState::kRunning;
    job.state_name = "RUNNING";
    job.nodes = "localhost";
    job.submit_time_s = job.start_time_s = job.incarnation.submit_time_s;
    jobs_[job.incarnation] = job;
  }
}

}  // namespace pounce::launch
