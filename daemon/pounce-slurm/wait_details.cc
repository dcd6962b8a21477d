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

JobRequest job_request_of(const slurm_job_info_t& job) {
  JobRequest request{text(job.qos), text(job.account), text(job.tres_req_str), 0};
  if (is_set(job.time_limit)) request.minutes = job.time_limit;
  return request;
}

InLine in_line(const forecast::AnyJob& job) {
  return {job.id, job.priority, joined(job.partitions, ",")};
}

void explain_limits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  Associations known;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (views[i].state != JobState::kQueued) continue;
    const auto limit = job::limit_of(views[i].reason_word);
    if (!limit || limit->measure != job::Limit::Measure::kAtOnce) continue;
    if (!known) {
      auto loaded = load_associations_of_user(user_name());
      if (!loaded) return;  // then the reason has no numbers
      known = std::move(*loaded);
    }
    views[i].limit = limit_use(*known, *limit, job_request_of(*jobs[i]));
  }
}

void explain_line(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  const auto waits = [](const JobView& view) { return view.state == JobState::kQueued && competes(view.reason_word); };
  if (std::ranges::none_of(views, waits) || jobs_are_private()) return;
  std::vector<InLine> line;
  for (const forecast::AnyJob& job : latest_cluster().jobs)
    if (job.competes) line.push_back(in_line(job));
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (waits(views[i])) views[i].ahead = jobs_ahead(line, in_line(any_job(*jobs[i])));
}

}  // namespace

void explain_waits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  explain_limits(jobs, views);
  explain_line(jobs, views);
  expect_starts(jobs, views);
}

}  // namespace pounce::slurm
