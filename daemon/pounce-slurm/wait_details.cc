// SPDX-License-Identifier: GPL-3.0-or-later
#include "wait_details.h"

#include <algorithm>

#include "base/join.h"
#include "open_classes.h"
#include "eta.h"
#include "all_jobs.h"
#include "facts.h"
#include "limit_use.h"
#include "slurm/line.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

Asked asked_by(const slurm_job_info_t& job) {
  Asked asked{text(job.qos), text(job.account), text(job.tres_req_str), 0};
  if (is_set(job.time_limit)) asked.minutes = job.time_limit;
  return asked;
}

InLine in_line(const forecast::AnyJob& job) {
  return {job.id, job.priority, joined(job.partitions, ",")};
}

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

void explain_line(const job_info_msg_t& message, std::vector<JobView>& views) {
  const auto waits = [](const JobView& view) { return view.state == JobState::kQueued && competes(view.reason_word); };
  if (std::ranges::none_of(views, waits) || jobs_are_private()) return;
  std::vector<InLine> line;
  for (const forecast::AnyJob& job : everybody().jobs)
    if (job.competes) line.push_back(in_line(job));
  for (std::uint32_t i = 0; i < message.record_count; ++i)
    if (waits(views[i])) views[i].ahead = jobs_ahead(line, in_line(any_job(message.job_array[i])));
}

}  // namespace

void explain_waits(const job_info_msg_t& message, std::vector<JobView>& views) {
  explain_limits(message, views);
  explain_line(message, views);
  expect_starts(message, views);
}

}  // namespace pounce::slurm
