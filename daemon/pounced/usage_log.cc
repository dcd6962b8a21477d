#include "pounced/usage_log.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/job_tag.h"
#include "base/log.h"
#include "core/lease/suggestion.h"
#include "pounced/line_file.h"

namespace pounce::daemon {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kMostBytes = 4 << 20;  // some ten thousand leases; as many again in the file before it
constexpr std::size_t kRecent = 32;  // ended leases in the status document

std::string line_of(const LeaseId& lease, const LeaseUse& use, const std::string& reason, std::int64_t now_s) {
  const Resources& asked = use.asked.resources;
  const json object = {{"lease", lease.hex()},
                       {"job", use.asked.job ? use.asked.job->job.value : 0},
                       {"class", asked.class_name},
                       {"node", use.asked.node},
                       {"gpus", asked.gpus},
                       {"gpu_type", asked.gpu_type},
                       {"cpus", asked.cpus},
                       {"memory_mib", asked.memory_mib},
                       {"time_min", asked.time.count()},
                       {"workers", asked.workers},
                       {"busy_ms", use.busy_ms()},
                       {"idle_ms", use.idle_ms()},
                       {"cpu_ms", use.cpu_ms()},
                       {"memory_peak_mib", use.memory_mib()},
                       {"gpu_percent", use.gpu_percent()},
                       {"gpu_memory_peak_mib", use.gpu_memory_mib()},
                       {"gpu_memory_mib", use.gpu_memory_total_mib()},
                       {"end_s", now_s},
                       {"suggestion", use.suggestion(true)},
                       {"reason", reason}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Number>
Number mean(const std::map<WorkerIndex, protocol::WorkerBeat>& workers, Number protocol::WorkerBeat::* field) {
  Number sum = 0;
  for (const auto& [index, beat] : workers) sum += beat.*field;
  return workers.empty() ? 0 : sum / static_cast<Number>(workers.size());
}

std::uint64_t largest(const std::map<WorkerIndex, protocol::WorkerBeat>& workers, std::uint64_t protocol::WorkerBeat::* field) {
  std::uint64_t most = 0;
  for (const auto& [index, beat] : workers) most = std::max(most, beat.*field);
  return most;
}

}  // namespace

std::int64_t LeaseUse::busy_ms() const { return mean(workers, &protocol::WorkerBeat::busy_ms); }
std::int64_t LeaseUse::idle_ms() const { return mean(workers, &protocol::WorkerBeat::idle_ms); }

std::int64_t LeaseUse::cpu_ms() const {
  std::int64_t sum = 0;
  for (const auto& [index, beat] : workers) sum += beat.cpu_ms;
  return sum;
}

std::uint64_t LeaseUse::memory_mib() const { return largest(workers, &protocol::WorkerBeat::memory_mib); }
std::uint64_t LeaseUse::gpu_memory_mib() const { return largest(workers, &protocol::WorkerBeat::gpu_memory_mib); }
std::uint64_t LeaseUse::gpu_memory_total_mib() const { return largest(workers, &protocol::WorkerBeat::gpu_memory_total_mib); }

std::int32_t LeaseUse::gpu_percent() const {
  std::int32_t sum = 0, known = 0;
  for (const auto& [index, beat] : workers)
    if (beat.gpu_percent >= 0) sum += beat.gpu_percent, ++known;
  return known == 0 ? -1 : sum / known;
}

std::string LeaseUse::suggestion(bool over) const {
  const auto time = [](std::int64_t ms) { return std::chrono::milliseconds(ms); };
  return lease::suggestion(asked.resources, {time(busy_ms()), time(idle_ms()), time(cpu_ms()), memory_mib(), gpu_percent(),
                                             gpu_memory_mib(), gpu_memory_total_mib()}, over);
}

void UsageLog::open(const std::string& path, const std::string& default_class) {
  path_ = path;
  default_class_ = default_class;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    recent_.push_back(std::move(line));
    if (recent_.size() > kRecent) recent_.pop_front();
  }
}

void UsageLog::up(const lease::LeaseView& lease) {
  LeaseUse& use = live_[lease.lease];
  use.asked = lease;
  std::string& name = use.asked.resources.class_name;
  if (name.empty()) name = !lease.why.class_name.empty() ? lease.why.class_name : default_class_;
}

void UsageLog::beat(const protocol::WorkerBeat& beat, TimePoint now) {
  const auto found = live_.find(beat.lease);
  if (found == live_.end() || beat.busy_ms + beat.idle_ms == 0) return;  // of an older worker: it does not tell
  found->second.workers[beat.worker] = beat;
  found->second.heard = now;
}

const LeaseUse* UsageLog::of(const LeaseId& lease) const {
  const auto found = live_.find(lease);
  return found == live_.end() || found->second.workers.empty() ? nullptr : &found->second;
}

std::optional<Incarnation> UsageLog::job(const LeaseId& lease) const {
  const LeaseUse* use = of(lease);
  return use != nullptr ? use->asked.job : std::nullopt;
}

std::optional<std::string> UsageLog::note(const InstanceId& instance, const LeaseId& lease, TimePoint now) const {
  const LeaseUse* use = of(lease);
  if (use == nullptr) return std::nullopt;
  const bool busy = std::ranges::any_of(use->workers, [](const auto& one) { return one.second.running > 0; });
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - use->heard);
  const auto whole = [](std::chrono::milliseconds time) { return std::chrono::round<std::chrono::seconds>(time); };
  return format_job_note({instance, lease}, whole(std::chrono::milliseconds(use->busy_ms()) + (busy ? since : since.zero())),
                         whole(std::chrono::milliseconds(use->idle_ms()) + (busy ? since.zero() : since)));
}

void UsageLog::ended(const LeaseId& lease, const std::string& reason, std::int64_t now_s) {
  const auto found = live_.extract(lease);
  if (!found || found.mapped().workers.empty()) return;
  std::string line = line_of(lease, found.mapped(), reason, now_s);
  if (!append_lines(path_, line + "\n", kMostBytes))
    spdlog::warn("lease={} its use cannot be written down in {}", lease.hex(), path_);
  recent_.push_back(std::move(line));
  if (recent_.size() > kRecent) recent_.pop_front();
}

}  // namespace pounce::daemon
