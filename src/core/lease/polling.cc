// What the batch system says about one job, from a poll or a sweep, and when it is asked. A state this build cannot
// name changes nothing; a job id means nothing without its restart count.
#include <algorithm>

#include "core/lease/lease_core.h"
#include "core/lease/words.h"

namespace pounce::lease {
namespace {

// "GPU 0" is the worker's word, which a person reads; Slurm's is gpu:a100:1(IDX:0), and of a job that waits what it asks for.
std::string devices_of(const Lease& lease, const JobView& view) {
  if (view.state == JobState::kQueued) return {};
  const std::string& before = lease.facts.devices;
  return view.devices.empty() || (!lease.workers.empty() && !before.empty()) ? before : view.devices;
}

}  // namespace

void LeaseCore::on(const Polled& event) {
  if (!poll_under_way_) return ignore("a poll nobody asked for");
  poll_under_way_ = false;
  poll_at_ = now_ + poll_wait_;
  poll_wait_ = std::clamp<Duration>(poll_wait_ * 2, defaults_.poll_min, defaults_.poll_max);
  changed_ = true;
  reached(event.jobs.has_value(), event.jobs ? std::string() : event.jobs.error().text);
  if (!event.jobs) return;
  for (const JobView& view : *event.jobs)
    if (Lease* lease = polled_lease(view)) job_seen(*lease, view);
}

Lease* LeaseCore::polled_lease(const JobView& view) {
  if (view.instance && *view.instance != instance_) return nullptr;
  for (auto& [id, lease] : leases_) {
    if (lease.over() || !lease.journalled || !lease.job || lease.job->job != view.incarnation.job) continue;
    if (view.lease && *view.lease != id) continue;
    // Without a tag in the view a recycled job id must not pass for ours.
    if (!view.lease && lease.job->submit_time_s != 0 && lease.job->submit_time_s != view.incarnation.submit_time_s)
      continue;
    return &lease;
  }
  return nullptr;
}

void LeaseCore::job_seen(Lease& lease, const JobView& view) {
  if (lease.submit_under_way && view.state == JobState::kEnded) return;  // its own reply is on the way
  if (!identify(lease, view)) return;
  lease.absent = 0;
  if (view.state == JobState::kUnknown) return job_news(lease, view);
  // A job that is ending by itself does not run again: such a view was only slow to arrive.
  const bool by_itself = lease.state == LeaseState::kEnding && !lease.end;
  lease.job_ending = by_itself || view.state == JobState::kEnding;
  const JobFacts before = lease.facts;
  lease.facts = {waiting_of(view), view.nodes, devices_of(lease, view), view.start_time_s, view.end_time_s, before.grace_s};
  if (view.preempt_time_s != 0 && view.state == JobState::kRunning) lease.facts.grace_s = std::max<std::int64_t>(view.end_time_s - view.preempt_time_s, 0);
  lease.times_known = lease.times_known || view.state == JobState::kRunning;
  if (lease.facts.node.empty()) lease.facts.node = before.node;
  const LeaseState was = lease.state;
  job_news(lease, view);
  if (lease.state == was && !(lease.facts == before)) tell(lease);
}

// False: old news, or news that has been dealt with here.
bool LeaseCore::identify(Lease& lease, const JobView& view) {
  if (!lease.job) {
    lease.job = view.incarnation;
    if (lease.journalled) record(lease, JournalRecord::Kind::kSubmitted);
    return true;
  }
  if (view.incarnation.restart < lease.job->restart) return false;
  if (view.incarnation.restart > lease.job->restart) {
    if (!accept(lease, News::kJobRequeued)) return false;
    return requeued(lease, view.incarnation);
  }
  lease.job->submit_time_s = view.incarnation.submit_time_s;  // Slurm's own stamp, if it was not known exactly
  return true;
}

// Before it ran a requeue is harmless. Afterwards it is another incarnation: what ran is lost, and the person's tasks
// decide whether there shall be another lease. True: go on with the view.
bool LeaseCore::requeued(Lease& lease, const Incarnation& next) {
  lease.job = next;
  record(lease, JournalRecord::Kind::kSubmitted);
  if (lease.pending()) return true;
  if (!lease.end)
    lease.end = Error{ErrorCode::kLeaseEnded, "Slurm requeued job " + std::to_string(next.job.value) + ".", {}, {}};
  lease.cancel_under_way = false;
  cancel(lease);
  return false;
}

void LeaseCore::job_news(Lease& lease, const JobView& view) {
  const std::string job = "Slurm job " + std::to_string(view.incarnation.job.value);
  switch (view.state) {
    case JobState::kUnknown:
      // Its worker, where there is one, knows better.
      if (lease.pending() && lease.linked() && accept(lease, News::kJobRunning)) return job_runs(lease, job + " runs");
      if (accept(lease, News::kJobUnknown)) lease.story.add(now_, "unknown state " + view.state_name);
      return;
    case JobState::kQueued:
      if (!accept(lease, News::kJobQueued)) return;
      if (lease.over()) return send_excess(view.incarnation, "the job of an ended lease");
      if (lease.state == LeaseState::kSubmitting) enter(lease, LeaseState::kQueued, job), poll_soon(defaults_.poll_min);
      return;
    case JobState::kRunning:
      if (!accept(lease, News::kJobRunning)) return;
      if (lease.over()) return send_excess(view.incarnation, "the job of an ended lease");
      if (lease.pending()) job_runs(lease, job + " runs");
      return;
    case JobState::kEnding:
      if (accept(lease, News::kJobEnding)) job_ends(lease, view);
      return;
    case JobState::kEnded:
      if (accept(lease, News::kJobEnded)) job_over(lease, view);
      return;
  }
}

void LeaseCore::job_runs(Lease& lease, const std::string& why) {
  lease.last_busy = now_;
  enter(lease, LeaseState::kStarting, why);
  introduce(lease);
  refresh(lease);  // an interpreter may have been announced before the job was known
  poll_soon(defaults_.poll_min);
}

// Its processes are dying. Where the reason is known already, the owner need not wait for the rest.
void LeaseCore::job_ends(Lease& lease, const JobView& view) {
  if (lease.state == LeaseState::kEnding) {
    if (lease.lost()) detach(lease, reason_of_end(lease, view));
    return;
  }
  enter(lease, LeaseState::kEnding, "Slurm is ending its job");
  poll_soon(defaults_.poll_min);
  if (view.end == JobEnd::kNone && !lease.end) return;
  lease.end = reason_of_end(lease, view);
  detach(lease, *lease.end);
}

void LeaseCore::job_over(Lease& lease, const JobView& view) { finish(lease, reason_of_end(lease, view)); }

// The typed reason, and what it means for the want that the lease served.
Error LeaseCore::reason_of_end(Lease& lease, const JobView& view) {
  if (view.end == JobEnd::kGone) sweeps_after_doubt_ = 2;  // or was it requeued, and has another submit time?
  const bool foreign = view.end == JobEnd::kCancelled && !lease.cancelled_by_us;
  const bool node_failed = view.end == JobEnd::kNodeFail && lease.lost();
  if (lease.end && !foreign && !node_failed) return *lease.end;
  const Error why = error_of_end(view, std::chrono::seconds(lease.facts.grace_s));
  WantBook* book = want_of(lease);
  if (book != nullptr && foreign) {
    book->not_before = now_ + defaults_.no_replacement;
    book->wait_reason = "the last job was cancelled by somebody; a new one is not asked for at once";
  }
  const bool own_fault = view.end == JobEnd::kCompleted || view.end == JobEnd::kFailed || view.end == JobEnd::kGone;
  if (own_fault) count_bad_start(lease, why);
  return why;
}

bool LeaseCore::to_poll(const Lease& lease) const {
  if (!lease.job || !lease.journalled || lease.over()) return false;
  if (lease.absent > 0) return true;
  const bool silent = !lease.linked() || now_ - lease.heard >= defaults_.worker_silence;
  switch (lease.state) {
    case LeaseState::kSubmitting:
    case LeaseState::kQueued:
    case LeaseState::kDraining:
    case LeaseState::kEnding:
      return true;
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return silent || !lease.times_known;  // its owner is warned before the walltime ends
    case LeaseState::kWanted:
    case LeaseState::kEnded:
      return false;
  }
  return false;
}

void LeaseCore::poll_soon(Duration wait) {
  poll_wait_ = defaults_.poll_min;
  poll_at_ = std::min(poll_at_, now_ + wait);
  changed_ = true;
}

// Only the change is told; every pending lease's owner hears it.
void LeaseCore::reached(bool ok, const std::string& what) {
  if (ok == !unreachable_since_.has_value()) return;
  unreachable_since_ = ok ? std::nullopt : std::optional(now_);
  if (ok) reached_since_ = now_;
  unreachable_why_ = what;
  changed_ = true;
  for (const auto& [id, lease] : leases_)
    if (lease.state <= LeaseState::kQueued) tell(lease);
}

}  // namespace pounce::lease
