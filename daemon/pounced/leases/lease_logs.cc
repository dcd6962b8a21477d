#include "pounced/leases/lease_logs.h"

#include <algorithm>
#include <sstream>

#include "base/file_io.h"
#include "base/log.h"
#include "job/job_tag.h"
#include "model/json.h"
#include "pounced/storage/file.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kRecent = 32;  // ended leases in the status document
// How much is kept of one worker's report.
constexpr std::size_t kMostGpus = 64, kMostTasks = 16, kMostBytesOfAWord = 256;

using model::JobFigures;
using protocol::WorkerBeat;
using Beats = std::map<WorkerIndex, WorkerBeat>;

model::EndedLease ended_lease(const LeaseId& lease, const LeaseUtilisation& use, ErrorCode code, const Cause& why,
                              std::int64_t now_s) {
  return {lease.hex(),
          use.view.job ? use.view.job->job.value : 0,
          use.view.node,
          use.view.resources,
          use.used(),
          now_s,
          code,
          why,
          {}};
}

template <class Number>
Number mean(const Beats& beats, Number JobFigures::* figure) {
  Number sum = 0;
  for (const auto& [index, beat] : beats) sum += beat.job.*figure;
  return beats.empty() ? 0 : sum / static_cast<Number>(beats.size());
}

template <class Part>
std::uint64_t largest(const Beats& beats, Part WorkerBeat::* part, std::uint64_t Part::* figure) {
  std::uint64_t most = 0;
  for (const auto& [index, beat] : beats) most = std::max(most, beat.*part.*figure);
  return most;
}

template <class Part>
std::int32_t mean_gpu_percent(const Beats& beats, Part WorkerBeat::* part) {
  std::int32_t sum = 0, known = 0;
  for (const auto& [index, beat] : beats)
    if (const std::int32_t percent = (beat.*part).gpu_percent; percent >= 0) sum += percent, ++known;
  return known == 0 ? -1 : sum / known;
}

void clip(std::string& word) {
  if (word.size() > kMostBytesOfAWord) word.resize(kMostBytesOfAWord);
}

void clip(model::GpuRow& gpu) {
  for (std::string* word : {&gpu.uuid, &gpu.model, &gpu.slice, &gpu.driver, &gpu.failed}) clip(*word);
  if (gpu.nvlink.size() > kMostGpus) gpu.nvlink.resize(kMostGpus);
  for (std::string& word : gpu.nvlink) clip(word);
}

}  // namespace

model::Used LeaseUtilisation::used() const {
  model::Used used{figures(), {}};
  for (const auto& [worker, report] : gpus) {
    used.gpus.insert(used.gpus.end(), report.gpus.begin(), report.gpus.end());
    used.gpu_tasks.insert(used.gpu_tasks.end(), report.tasks.begin(), report.tasks.end());
  }
  return used;
}

model::Reported LeaseUtilisation::reported() const {
  const auto tells = [](const auto& one) { return !one.second.reported.nothing(); };
  const auto first = std::ranges::find_if(workers, tells);
  return first == workers.end() ? model::Reported{} : first->second.reported;
}

bool LeaseUtilisation::held() const {
  return std::ranges::any_of(workers, [](const auto& one) { return one.second.job.held; });
}

JobFigures LeaseUtilisation::figures() const {
  JobFigures all;
  all.busy_ms = mean(workers, &JobFigures::busy_ms);
  all.idle_ms = mean(workers, &JobFigures::idle_ms);
  for (const auto& [index, beat] : workers) all.cpu_ms += beat.job.cpu_ms;
  all.memory_peak_mib = largest(workers, &WorkerBeat::job, &JobFigures::memory_peak_mib);
  all.gpu_percent = mean_gpu_percent(workers, &WorkerBeat::job);
  all.gpu_memory_peak_mib = largest(workers, &WorkerBeat::job, &JobFigures::gpu_memory_peak_mib);
  all.gpu_memory_total_mib = largest(workers, &WorkerBeat::job, &JobFigures::gpu_memory_total_mib);
  all.held = held();
  return all;
}

model::UseNow LeaseUtilisation::now() const {
  model::UseNow all;
  for (const auto& [index, beat] : workers) all.cpu_percent += beat.now.cpu_percent;
  all.memory_mib = largest(workers, &WorkerBeat::now, &model::UseNow::memory_mib);
  all.gpu_percent = mean_gpu_percent(workers, &WorkerBeat::now);
  all.gpu_memory_mib = largest(workers, &WorkerBeat::now, &model::UseNow::gpu_memory_mib);
  return all;
}

void UtilisationLog::open(const std::string& path, const std::string& default_class) {
  path_ = path;
  default_class_ = default_class;
  std::istringstream file(read_end(path_, kMostBytes));
  for (std::string line; std::getline(file, line);)
    // A line that a full disk cut short is skipped.
    if (auto ended = model::parse<model::EndedLease>(line)) remember(std::move(*ended));
}

void UtilisationLog::remember(model::EndedLease ended) {
  recent_.push_back(std::move(ended));
  if (recent_.size() > kRecent) recent_.pop_front();
}

void UtilisationLog::up(const lease::LeaseView& lease) {
  LeaseUtilisation& use = live_[lease.lease];
  use.view = lease;
  std::string& name = use.view.resources.class_name;
  if (name.empty()) name = !lease.why.class_name.empty() ? lease.why.class_name : default_class_;
}

bool UtilisationLog::beat(const protocol::WorkerBeat& beat, TimePoint now) {
  const auto found = live_.find(beat.lease);
  // An older worker reports neither time.
  if (found == live_.end() || beat.job.busy_ms + beat.job.idle_ms == 0) return false;
  const bool was_held = found->second.held();
  protocol::WorkerBeat& last = found->second.workers[beat.worker] = beat;
  if (last.reported.bytes() > model::Reported::kMostBytes) last.reported = {};
  found->second.last_seen = now;
  return !was_held && found->second.held();
}

void UtilisationLog::gpus(protocol::WorkerGpus report) {
  const auto found = live_.find(report.lease);
  if (found == live_.end()) return;
  if (report.gpus.size() > kMostGpus) report.gpus.resize(kMostGpus);
  if (report.tasks.size() > kMostTasks) report.tasks.resize(kMostTasks);
  std::ranges::for_each(report.gpus, [](model::GpuRow& gpu) { clip(gpu); });
  for (model::TaskGpuUse& use : report.tasks) clip(use.task);
  clip(report.node), clip(report.gpu_direct_storage);
  found->second.gpus[report.worker] = std::move(report);
}

const LeaseUtilisation* UtilisationLog::of(const LeaseId& lease) const {
  const auto found = live_.find(lease);
  return found == live_.end() || found->second.workers.empty() ? nullptr : &found->second;
}

void UtilisationLog::forget(const std::function<bool(const LeaseId&)>& which) {
  std::erase_if(live_, [&](const auto& entry) { return which(entry.first); });
}

std::optional<JobIdentity> UtilisationLog::job(const LeaseId& lease) const {
  const LeaseUtilisation* use = of(lease);
  return use != nullptr ? use->view.job : std::nullopt;
}

std::optional<std::string> UtilisationLog::note(const InstanceId& instance, const LeaseId& lease, TimePoint now) const {
  const LeaseUtilisation* use = of(lease);
  if (use == nullptr) return std::nullopt;
  const bool busy = std::ranges::any_of(use->workers, [](const auto& one) {
    return one.second.running > 0 && one.second.state != NamespaceState::kSaving;
  });
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - use->last_seen);
  const JobFigures figures = use->figures();
  const auto whole = [](std::chrono::milliseconds time) { return std::chrono::round<std::chrono::seconds>(time); };
  return job::format_job_note({instance, lease}, figures.held,
                              whole(std::chrono::milliseconds(figures.busy_ms) + (busy ? since : since.zero())),
                              whole(std::chrono::milliseconds(figures.idle_ms) + (busy ? since.zero() : since)));
}

void UtilisationLog::ended(const LeaseId& lease, ErrorCode code, const Cause& why, std::int64_t now_s) {
  const auto found = live_.extract(lease);
  if (!found || found.mapped().workers.empty()) return;
  model::EndedLease one = ended_lease(lease, found.mapped(), code, why, now_s);
  if (!append_lines(path_, model::to_text(one) + "\n", kMostBytes))
    spdlog::warn("lease={} its use cannot be written down in {}", lease.hex(), path_);
  remember(std::move(one));
}

namespace {

constexpr std::size_t kMostOfOneWait = 16;
constexpr std::int64_t kBetween_s = 30;
constexpr std::uintmax_t kWaitLogBytes = 512 * 1024;

}  // namespace

void WaitLog::hear(const lease::Action& action, std::int64_t now_s) {
  if (const auto* status = std::get_if<lease::TellStatus>(&action)) state(*status, now_s);
  // A lease that ends before it starts has no real start to compare with.
  if (const auto* ended = std::get_if<lease::TellLeaseEnded>(&action)) predictions_.erase(ended->lease);
}

void WaitLog::state(const lease::TellStatus& status, std::int64_t now_s) {
  switch (status.state) {
    case lease::LeaseState::kQueued: {
      if (!status.waiting.eta.known()) return;
      auto& predictions = predictions_[status.lease];
      const bool soon = !predictions.empty() && now_s - predictions.back().stated_s < kBetween_s;
      if (!soon && predictions.size() < kMostOfOneWait) predictions.push_back({now_s, status.waiting.eta});
      return;
    }
    case lease::LeaseState::kStarting:
    case lease::LeaseState::kIdle:
    case lease::LeaseState::kBusy:
      return write(status.lease, status, now_s);
    default:
      return;
  }
}

void WaitLog::write(const LeaseId& lease, const lease::TellStatus& status, std::int64_t started_s) {
  const auto found = predictions_.find(lease);
  if (found == predictions_.end()) return;
  std::string lines;
  for (const Prediction& prediction : found->second)
    lines += model::to_text(model::StartStatement{lease.hex(), status.waiting.class_name, prediction.stated_s,
                                                  prediction.eta, started_s}) +
             '\n';
  predictions_.erase(found);
  if (!append_lines(path_, lines, kWaitLogBytes)) spdlog::warn("{} cannot be written", path_);
}

void JobNotes::hold_begins(const LeaseId& lease) { send(lease, job::format_hold_note({instance_, lease})); }

void JobNotes::ending(const LeaseId& lease) {
  if (const auto note = uses_.note(instance_, lease, Clock::now())) send(lease, *note);
}

void JobNotes::send(const LeaseId& lease, const std::string& note) {
  const auto job = uses_.job(lease);
  if (!job || last_ == note) return;  // the end of each worker repeats the note, and one is enough
  last_ = note;
  launcher_.ask(slurm::Note{*job, note}, [lease](Result<slurm::Done> noted) {
    if (!noted) spdlog::info("lease={} its job's comment could not be written: {}", lease.hex(), noted.error().text);
  });
}

}  // namespace pounce::daemon
