// SPDX-License-Identifier: GPL-3.0-or-later
#include "waiting.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "classes.h"
#include "facts.h"
#include "limits.h"
#include "slurm/line.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

using Clock = std::chrono::steady_clock;

Asked asked_by(const slurm_job_info_t& job) {
  Asked asked{text(job.qos), text(job.account), text(job.tres_req_str), 0};
  if (is_set(job.time_limit)) asked.minutes = job.time_limit;
  return asked;
}

InLine in_line(const slurm_job_info_t& job) { return {job.job_id, job.priority, text(job.partition)}; }

// Others wait for something of their own: a time, a job, a limit. They are not in this one's way.
bool competes(const std::string& reason) { return reason == "Priority" || reason == "Resources"; }

void explain_limits(const job_info_msg_t& message, std::vector<JobView>& views) {
  Associations known;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    if (views[i].state != JobState::kQueued) continue;
    const auto limit = lease::limit_of(views[i].reason_word);
    if (!limit || limit->measure != lease::Limit::Measure::kAtOnce) continue;
    if (!known) {
      auto loaded = load_associations_of_user(user_name());
      if (!loaded) return;  // the reason is told without its numbers
      known = std::move(*loaded);
    }
    views[i].limit = limit_use(*known, *limit, asked_by(message.job_array[i]));
  }
}

// Everybody's queue costs slurmctld some 7 µs a job: it is read again only after a hundred times as long as it took.
// Until then what was read serves.
const std::vector<InLine>& everybody() {
  static std::vector<InLine> line;
  static Clock::time_point again;
  const auto begin = Clock::now();
  if (begin < again) return line;
  job_info_msg_t* raw = nullptr;
  if (slurm_code(slurm_load_jobs(0, &raw, SHOW_LOCAL | SHOW_ALL)) != 0) return line;
  const Jobs message(raw);
  line.clear();
  for (std::uint32_t i = 0; i < message->record_count; ++i) {
    const slurm_job_info_t& job = message->job_array[i];
    if ((job.job_state & JOB_STATE_BASE) == JOB_PENDING && competes(text(compat::reason_text(job)))) line.push_back(in_line(job));
  }
  const auto end = Clock::now();
  again = end + 100 * (end - begin);
  return line;
}

void explain_line(const job_info_msg_t& message, std::vector<JobView>& views) {
  const auto waits = [](const JobView& view) { return view.state == JobState::kQueued && competes(view.reason_word); };
  if (std::ranges::none_of(views, waits) || jobs_are_private()) return;
  const auto& line = everybody();
  for (std::uint32_t i = 0; i < message.record_count; ++i)
    if (waits(views[i])) views[i].ahead = jobs_ahead(line, in_line(message.job_array[i]));
}

}  // namespace

void explain_waits(const job_info_msg_t& message, std::vector<JobView>& views) {
  explain_limits(message, views);
  explain_line(message, views);
}

}  // namespace pounce::slurm
