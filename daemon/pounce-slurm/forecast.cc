// SPDX-License-Identifier: GPL-3.0-or-later
// When a queued job is expected to start.

#include "pounce-slurm/forecast.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "job/slurm_reason.h"
#include "pounce-slurm/libslurm_values.h"

namespace pounce::slurm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGrain_s = 1;  // Slurm counts whole seconds, and schedules only now and then

std::uint32_t count(std::size_t jobs) { return static_cast<std::uint32_t>(jobs); }

Eta as_eta(const forecast::Span& span, std::time_t from) {
  const std::int64_t now = std::time(nullptr);
  const auto at = [&](double seconds) {
    return std::max(now, from + static_cast<std::int64_t>(std::llround(seconds)));
  };
  return {at(span.median_s), at(span.low_s - kGrain_s), at(span.high_s + kGrain_s)};
}

Eta played(const forecast::AnyJob& job, const forecast::Bound& bound) {
  const forecast::Line line = line_of(latest_cluster(), job, bound);
  const auto span = replay(line, runs());
  if (!span) return {};
  Eta eta = as_eta(*span, read_at());
  eta.from = Eta::From::kQueue;
  eta.running = count(line.running.size());
  // The job itself is the last of those waiting.
  eta.ahead = count(line.waiting.size() - std::min<std::size_t>(line.waiting.size(), 1));
  eta.seen = count(runs().seen({job.user, job.class_name, static_cast<std::int64_t>(job.limit_s)}));
  return eta;
}

// For hidden queues: Slurm's planner sees other users' jobs, but assumes that each runs up to its limit.
Eta shrunk(const slurm_job_info_t& job) {
  const std::time_t now = std::time(nullptr);
  if (job.start_time <= now) return {};
  const auto& shares = runs().shares({"", text(job.qos)});
  const auto part = [&](double place) {
    return std::difftime(job.start_time, now) *
           shares[static_cast<std::size_t>(place * static_cast<double>(shares.size() - 1))];
  };
  Eta eta = as_eta({part(0.1), part(0.5), std::max(part(0.9), std::difftime(job.start_time, now))}, now);
  eta.from = Eta::From::kPlan;
  eta.seen = count(runs().seen({"", text(job.qos)}));
  return eta;
}

forecast::Counts counts_of(const job::Limit& limit) {
  using Per = job::Limit::Per;
  switch (limit.per) {
    case Per::kUser:
      return forecast::Counts::kUser;
    case Per::kAccount:
      return forecast::Counts::kAccount;
    case Per::kEverybody:
      return limit.of == job::Limit::Of::kAccount ? forecast::Counts::kAccount : forecast::Counts::kClass;
    default:
      return forecast::Counts::kNone;
  }
}

}  // namespace

Eta eta_of(const slurm_job_info_t& job, const JobView& view) {
  const std::string& word = view.reason_word;
  const auto limit = job::limit_of(word);
  if (!limit && !competes(word) && word != "None") return {};
  if (limit && (view.limit.what.empty() || limit->of_one_job() || limit->measure != job::Limit::Measure::kAtOnce))
    return {};
  if (latest_cluster().nodes.empty()) return limit ? Eta{} : shrunk(job);
  // An older reading lacks this job and those submitted with it: wait for the next one.
  if (std::ranges::find(latest_cluster().jobs, job.job_id, &forecast::AnyJob::id) == latest_cluster().jobs.end()) {
    want_newer();
    return {};
  }
  const forecast::Bound bound =
      limit ? forecast::Bound{view.limit, counts_of(*limit), limit->of == job::Limit::Of::kClass} : forecast::Bound{};
  const Eta eta = played(any_job(job), bound);
  return eta.known() || limit ? eta : shrunk(job);  // too many jobs run and wait for a replay
}

void expect_starts(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  struct Said {
    std::time_t of = 0;  // the reading that it is based on
    std::string word;
    Eta eta;
  };
  static std::map<std::uint32_t, Said> said;
  if (std::ranges::none_of(views, [](const JobView& view) { return view.state == JobState::kQueued; })) return;
  latest_cluster();  // reads again if it is time
  const auto begin = Clock::now();
  std::map<std::uint32_t, Said> now;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (views[i].state != JobState::kQueued) continue;
    Said& one = now[jobs[i]->job_id] = said[jobs[i]->job_id];
    const bool known = one.of == read_at() && one.of != 0 && one.word == views[i].reason_word;
    if (!known && Clock::now() - begin < std::chrono::seconds(1)) {
      one.eta = eta_of(*jobs[i], views[i]);
      one.of = read_at();
      one.word = views[i].reason_word;
    }
    views[i].eta = one.eta;
  }
  said.swap(now);
  took(Clock::now() - begin);
}

Eta eta_of_another(forecast::AnyJob job) {
  if (latest_cluster().nodes.empty()) return {};
  job.id = ~0u;
  job.priority = 1;
  return played(job, {});
}

}  // namespace pounce::slurm
