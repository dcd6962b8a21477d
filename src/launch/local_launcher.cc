#include "launch/local_launcher.h"

#include <glob.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/network.h"
#include "base/process.h"
#include "base/text.h"
#include "launch/detached_process.h"

namespace pounce::launch {
namespace {

constexpr std::size_t kEndedKept = 256;  // ended jobs remembered, as Slurm does for MinJobAge

constexpr std::chrono::milliseconds kLook{100};  // between two looks for room, while a job waits for it

// The numbers of /dev/nvidia0, /dev/nvidia1 …; the worker finds out what they are.
std::vector<std::uint32_t> gpus_here() {
  std::vector<std::uint32_t> indexes;
  glob_t found{};
  if (::glob("/dev/nvidia[0-9]*", 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      indexes.push_back(static_cast<std::uint32_t>(std::stoul(found.gl_pathv[i] + sizeof "/dev/nvidia" - 1)));
  ::globfree(&found);
  return indexes;
}

std::string list_of(const std::vector<std::uint32_t>& numbers) {
  return joined(numbers, ",", [](std::uint32_t number) { return std::to_string(number); });
}

JobView view_of(const JobSpec& spec, pid_t pid, const std::string& devices) {
  JobView view;
  view.submit_time_s = view.start_time_s = std::time(nullptr);
  view.job_identity = {{static_cast<std::uint32_t>(pid)}, view.submit_time_s, 0};
  view.instance = spec.instance;
  view.lease = spec.lease;
  view.name = spec.name;
  view.class_name = spec.resources.class_name;
  view.devices = devices;
  view.resources = spec.resources;
  if (spec.resources.time.count() > 0)
    view.end_time_s = view.start_time_s + std::chrono::seconds(spec.resources.time).count();
  return view;
}

void show_running(JobView& view, const std::string& nodes) {
  view.state = JobState::kRunning;
  view.state_name = "RUNNING";
  view.nodes = nodes;
}

std::string device_words(const std::vector<std::uint32_t>& gpus) {
  return "gpu:" + std::to_string(gpus.size()) + "(IDX:" + list_of(gpus) + ")";
}

std::string device_words(const LocalPlaces& places) {
  std::vector<std::string> words;
  for (const LocalPlace& place : places)
    if (!place.gpus.empty()) words.push_back(device_words(place.gpus));
  return joined(words);
}

JobEnd end_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? JobEnd::kCompleted : JobEnd::kFailed;
  const std::set<int> ending_signals = {SIGTERM, SIGKILL, SIGINT, SIGHUP};
  return ending_signals.contains(WTERMSIG(status)) ? JobEnd::kCancelled : JobEnd::kFailed;
}

void show_ended(LocalJob& job, JobEnd end, int status) {
  job.view.state = JobState::kEnded;
  job.view.state_name = "ENDED";
  job.view.end = job.ending != JobEnd::kNone ? job.ending : end;  // as in Slurm, a cancel decides the name of the end
  job.view.end_time_s = std::time(nullptr);
  job.view.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  job.view.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  job.kill_at = TimePoint::max();
}

}  // namespace

LocalLauncher::LocalLauncher(LocalOptions options) : options_(std::move(options)) {
  const TimePoint now = Clock::now();
  const std::int64_t now_s = std::time(nullptr);
  for (LocalJob& job : read_records(options_.folder)) {
    std::erase_if(job.places, [this](const LocalPlace& place) {
      return place.room >= std::max<std::size_t>(options_.rooms.size(), 1);
    });
    show_running(job.view, node_names(options_.rooms, job.places));
    const JobIdentity name = job.view.job_identity;
    if (job.view.end_time_s > 0) walltimes_[name] = now + std::chrono::seconds(job.view.end_time_s - now_s);
    if (job.process != 0) next_number_ = std::max(next_number_, name.job.value + 1);
    jobs_[name] = std::move(job);
  }
}

void LocalLauncher::send(slurm::Question question, Reply<std::any> reply) {
  reply(std::visit(
      [this](const auto& query) { return answer(query).map([](auto&& found) { return std::any(std::move(found)); }); },
      question));
}

Result<ClusterFacts> LocalLauncher::answer(const slurm::AskFacts&) const {
  ClusterFacts facts;
  facts.cluster = facts.version = "local";
  facts.controller_address = "127.0.0.1";
  return facts;
}

void LocalLauncher::leave_out(const LeaseId& lease, const std::string& gpu) {
  for (const auto& [name, job] : jobs_) {
    if (job.view.lease != lease) continue;
    for (const LocalPlace& place : job.places)
      for (const std::uint32_t given : place.gpus) {
        const bool is_it =
            (options_.rooms.empty() ? std::to_string(given) : options_.rooms[place.room].gpus.at(given)) == gpu;
        auto& failed = options_.rooms.empty() ? failed_gpus_ : options_.rooms[place.room].failed_gpus;
        if (is_it && std::ranges::count(failed, given) == 0) failed.push_back(given);
      }
  }
}

// Returns the devices' name for the user, "" for none. Prefers the GPUs with the fewest users, since jobs do not
// queue on the user's own machine.
Result<std::string> LocalLauncher::give_gpus(const Resources& resources, std::vector<std::uint32_t>& given) const {
  const std::uint64_t gpus = resources.all_gpus();
  if (gpus == 0) return std::string();
  if (gpus <= options_.stand_in_gpus) return std::string(kStandIn);
  std::vector<std::uint32_t> here = gpus_here();
  std::erase_if(here, [this](std::uint32_t gpu) { return std::ranges::count(failed_gpus_, gpu) > 0; });
  if (here.size() < gpus) {
    const std::string count = here.empty() ? "none" : "only " + std::to_string(here.size());
    return failure(ErrorCode::kUnsatisfiable,
                   "this machine has " + count + " of the " + std::to_string(gpus) + " GPU(s) asked for",
                   options_.stand_in_gpus > 0
                       ? "Ask for at most " + std::to_string(options_.stand_in_gpus) + "."
                       : "Ask for no GPU, or set stand_in_gpus to let the CPU stand in for one.");
  }
  const auto users = [this](std::uint32_t gpu) {
    return std::ranges::count_if(jobs_, [gpu](const auto& item) {
      const LocalJob& job = item.second;
      return !job.over() && !job.places.empty() && std::ranges::count(job.places.front().gpus, gpu) > 0;
    });
  };
  std::ranges::stable_sort(here, {}, users);
  given.assign(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(gpus));
  std::ranges::sort(given);
  return device_words(given);
}

Result<LocalJob> LocalLauncher::launched(const JobSpec& spec, LocalPlaces places, const std::string& devices) {
  LocalJob job;
  job.places = std::move(places);
  const auto pid = start_detached(begun_on(options_.rooms, options_.slurm_job, spec, job.places), [&](pid_t child) {
    job.view = view_of(spec, child, devices);
    job.started = start_ticks(child).value_or(0);
    return write_record(options_.folder, job);
  });
  if (!pid) {
    if (job.pid() != 0) remove_record(options_.folder, job);
    return failure(pid.error());
  }
  job.child = true;
  show_running(job.view, node_names(options_.rooms, job.places));
  return job;
}

Result<JobIdentity> LocalLauncher::start(const JobSpec& spec) {
  if (!options_.rooms.empty()) return in_room(spec);
  if (spec.resources.nodes > 1)
    return failure(ErrorCode::kUnsatisfiable, "here is one node, not " + std::to_string(spec.resources.nodes),
                   "Ask for workers= without nodes=, or run it where pounce leases from Slurm.");
  LocalPlace here;
  const auto devices = give_gpus(spec.resources, here.gpus);
  if (!devices) return failure(devices.error());
  auto job = launched(spec, {std::move(here)}, *devices);
  if (!job) return failure(job.error());
  const JobIdentity name = job->view.job_identity;
  if (spec.resources.time.count() > 0) walltimes_[name] = Clock::now() + spec.resources.time;
  jobs_[name] = std::move(*job);
  forget_old();
  return name;
}

Result<JobIdentity> LocalLauncher::in_room(const JobSpec& spec) {
  if (const auto possible = can_ever_fit(options_.rooms, spec.resources); !possible) return failure(possible.error());
  LocalJob job;
  job.view = view_of(spec, static_cast<pid_t>(next_number_++), "");
  job.view.start_time_s = job.view.end_time_s = 0;
  job.view.state = JobState::kQueued;
  job.view.state_name = "PENDING";
  job.view.reason = job.view.reason_word = "Resources";
  const JobIdentity name = job.view.job_identity;
  jobs_[name] = std::move(job);
  waiting_.emplace_back(name, spec);
  start_waiting();
  forget_old();
  return name;
}

RoomUse LocalLauncher::used() const {
  RoomUse used;
  for (const auto& [name, job] : jobs_)
    if (!job.over() && job.view.state != JobState::kQueued) used.add(job.view.resources, job.places);
  return used;
}

// Jobs behind one that does not fit wait with it; otherwise a large job would wait forever.
void LocalLauncher::start_waiting() {
  while (!waiting_.empty() && start_first_waiting()) waiting_.erase(waiting_.begin());
}

bool LocalLauncher::start_first_waiting() {
  const auto& [name, spec] = waiting_.front();
  LocalJob& job = jobs_[name];
  if (job.over()) return true;
  // A node or GPU failed meanwhile.
  if (!can_ever_fit(options_.rooms, spec.resources)) return show_ended(job, JobEnd::kNodeFail, 0), true;
  auto places = fit(options_.rooms, used(), spec.resources);
  if (!places) return false;
  const std::string devices = device_words(*places);
  auto started = launched(spec, std::move(*places), devices);
  if (!started) return show_ended(job, JobEnd::kFailed, 0), true;
  started->process = started->pid();
  started->view.job_identity = name;
  // A later daemon finds it under its first number. If this write fails, that daemon takes the job for gone.
  static_cast<void>(write_record(options_.folder, *started));
  if (spec.resources.time.count() > 0) walltimes_[name] = Clock::now() + spec.resources.time;
  job = std::move(*started);
  return true;
}

void LocalLauncher::count_accident(const LocalJob& job) {
  if (job.places.size() != 1 || job.places.front().room == 0) return;
  std::uint32_t& accidents = options_.rooms[job.places.front().room].accidents;
  accidents = job.view.end == JobEnd::kFailed ? accidents + 1 : 0;
}

Result<slurm::Done> LocalLauncher::answer(const slurm::Cancel& cancel) {
  if (const auto known = jobs_.find(cancel.job); known != jobs_.end()) {
    refresh(known->second);
    if (!known->second.over()) end(known->second, JobEnd::kCancelled, Clock::now());
  }
  return slurm::Done{};
}

// Sends TERM to the supervisor alone, which ends its tree in order. A second TERM would hurry it.
void LocalLauncher::end(LocalJob& job, JobEnd why, TimePoint now) {
  if (job.ending != JobEnd::kNone) return;
  job.ending = why;
  if (job.view.state == JobState::kQueued) {
    std::erase_if(waiting_, [&](const auto& one) { return one.first == job.view.job_identity; });
    return show_ended(job, why, 0);
  }
  job.view.state = JobState::kEnding;
  job.view.state_name = "COMPLETING";
  job.view.end = why;
  job.kill_at = now + options_.kill_wait;
  ::kill(job.pid(), SIGTERM);
}

void LocalLauncher::refresh(LocalJob& job) {
  if (job.over() || job.view.state == JobState::kQueued) return;
  if (job.child) {
    const auto ended = ended_child(job.pid());
    if (!ended) return;
    show_ended(job, ended->pid > 0 ? end_of(ended->wait_status) : JobEnd::kGone, ended->wait_status);
  } else {
    if (start_ticks(job.pid()) == job.started) return;
    show_ended(job, JobEnd::kGone, 0);
  }
  count_accident(job);
  walltimes_.erase(job.view.job_identity);
  remove_record(options_.folder, job);
}

TimePoint LocalLauncher::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const auto& [job, when] : walltimes_) next = std::min(next, when);
  for (const auto& [name, job] : jobs_) next = std::min(next, job.kill_at);
  if (!waiting_.empty()) next = std::min(next, looked_at_ + kLook);
  return next;
}

void LocalLauncher::on_time(TimePoint now) {
  looked_at_ = now;
  for (auto& [name, job] : jobs_) {
    refresh(job);
    if (job.over()) continue;
    const auto walltime = walltimes_.find(name);
    if (walltime != walltimes_.end() && now >= walltime->second) {
      walltimes_.erase(walltime);
      end(job, JobEnd::kTimeout, now);
    }
    if (now < job.kill_at) continue;
    kill_session(job.pid());
    job.kill_at = now + options_.kill_wait;
  }
  start_waiting();
}

Result<std::vector<JobView>> LocalLauncher::answer(const slurm::Poll& poll) {
  std::vector<JobView> views;
  for (const JobIdentity& wanted : poll.jobs) {
    const auto known = jobs_.find(wanted);
    if (known != jobs_.end()) refresh(known->second);
    views.push_back(known != jobs_.end() ? known->second.view : gone_job(wanted));
  }
  return views;
}

Result<std::vector<JobView>> LocalLauncher::answer(const slurm::Reconcile& reconcile) {
  std::vector<JobView> views;
  for (auto& [name, job] : jobs_) {
    if (job.view.instance != reconcile.instance) continue;
    refresh(job);
    views.push_back(job.view);
  }
  return views;
}

Result<std::vector<JobView>> LocalLauncher::answer(const slurm::AskQueue&) {
  std::vector<JobView> views;
  for (auto& [name, job] : jobs_) {
    refresh(job);
    if (!job.over()) views.push_back(job.view);
  }
  return views;
}

void LocalLauncher::forget_old() {
  auto ended = std::ranges::count_if(jobs_, [](const auto& item) { return item.second.over(); });
  while (static_cast<std::size_t>(ended) > kEndedKept) {
    const auto oldest = std::ranges::min_element(
        jobs_, {}, [](const auto& item) { return item.second.over() ? item.second.view.end_time_s : INT64_MAX; });
    jobs_.erase(oldest);
    --ended;
  }
}

}  // namespace pounce::launch
