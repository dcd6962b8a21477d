#include "core/lease/job_news.h"

#include <algorithm>

#include "core/lease/job_end.h"

namespace pounce::lease {
namespace {

// "GPU 0" is the worker's word, which a user reads; Slurm's is gpu:a100:1(IDX:0), and of a job that waits what it asks for.
std::string devices_of(const Lease& lease, const JobView& view) {
  if (view.state == JobState::kQueued) return {};
  const std::string& before = lease.facts.devices;
  return view.devices.empty() || (!lease.workers.empty() && !before.empty()) ? before : view.devices;
}

JobFacts facts_of(const Lease& lease, const JobView& view) {
  JobFacts facts{waiting_of(view), view.nodes, devices_of(lease, view), view.start_time_s, view.end_time_s, lease.facts.grace_s};
  if (view.preempt_time_s != 0 && view.state == JobState::kRunning) facts.grace_s = std::max<std::int64_t>(view.end_time_s - view.preempt_time_s, 0);
  if (facts.node.empty()) facts.node = lease.facts.node;
  return facts;
}

}  // namespace

void JobNews::on(const Polled& event) {
  if (!context_.polling.answered()) return context_.ignore("a poll nobody asked for");
  notices_.slurm_answered(event.jobs);
  if (!event.jobs) return;
  for (const JobView& view : *event.jobs) {
    if (view.instance && *view.instance != context_.instance) continue;
    if (Lease* lease = context_.leases.of_job(view)) seen(*lease, view);
  }
}

void JobNews::seen(Lease& lease, const JobView& view) {
  if (lease.submit_under_way && view.state == JobState::kEnded) return;  // its own reply is on the way
  if (!identify(lease, view)) return;
  lease.absent = 0;
  if (view.state == JobState::kUnknown) return tell_lease(lease, view);
  // A job that is ending by itself does not run again: such a view was only slow to arrive.
  const bool by_itself = lease.state == LeaseState::kEnding && !lease.end;
  lease.job_ending = by_itself || view.state == JobState::kEnding;
  const JobFacts before = std::exchange(lease.facts, facts_of(lease, view));
  lease.times_known = lease.times_known || view.state == JobState::kRunning;
  const LeaseState was = lease.state;
  tell_lease(lease, view);
  if (lease.state == was && !(lease.facts == before)) notices_.tell(lease);
}

// False: old news, or news that has been dealt with here.
bool JobNews::identify(Lease& lease, const JobView& view) {
  if (!lease.job) {
    lease.job = view.job_identity;
    if (lease.journalled) context_.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kSubmitted)});
    return true;
  }
  if (view.job_identity.restart < lease.job->restart) return false;
  if (view.job_identity.restart > lease.job->restart) {
    if (!transitions_.accept(lease, News::kJobRequeued)) return false;
    return requeued(lease, view.job_identity);
  }
  lease.job->submit_time_s = view.job_identity.submit_time_s;  // Slurm's own stamp, if it was not known exactly
  return true;
}

// Before it ran a requeue is harmless. Afterwards it is another job identity: what ran is lost, and the user's tasks
// decide whether there shall be another lease. True: go on with the view.
bool JobNews::requeued(Lease& lease, const JobIdentity& next) {
  lease.job = next;
  context_.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kSubmitted)});
  if (lease.pending()) {
    forget_workers(lease, next);
    return true;
  }
  if (!lease.end)
    lease.end = error_of(ErrorCode::kLeaseEnded, Cause{.code = CauseCode::kJobRequeued, .job = next.job.value});
  lease.cancel_under_way = false;
  ending_.cancel(lease);
  return false;
}

// Those that came before the lease was known: they are of the earlier run.
void JobNews::forget_workers(Lease& lease, const JobIdentity& next) {
  ending_.send_away(lease, {.code = CauseCode::kJobRequeued, .job = next.job.value}, false);
  lease.workers.clear();
}

void JobNews::tell_lease(Lease& lease, const JobView& view) {
  switch (view.state) {
    case JobState::kUnknown:
      // Its worker, where there is one, knows better.
      if (lease.pending() && lease.linked() && transitions_.accept(lease, News::kJobRunning)) return runs(lease);
      if (transitions_.accept(lease, News::kJobUnknown)) lease.history.add(context_.now(), {.code = CauseCode::kUnknownState, .word = view.state_name});
      return;
    case JobState::kQueued:
      if (!transitions_.accept(lease, News::kJobQueued)) return;
      if (lease.over()) return ending_.cancel_excess(view.job_identity, "the job of an ended lease");
      lease.seen_waiting = true;
      if (lease.state != LeaseState::kSubmitting) return;
      // A worker of this very run has come: the view is older than it.
      if (!lease.workers.empty() && transitions_.accept(lease, News::kJobRunning)) return runs(lease);
      transitions_.enter(lease, LeaseState::kQueued, {.code = CauseCode::kInQueue, .job = view.job_identity.job.value});
      return context_.polling.soon(context_.times.poll_min);
    case JobState::kRunning:
      if (!transitions_.accept(lease, News::kJobRunning)) return;
      if (lease.over()) return ending_.cancel_excess(view.job_identity, "the job of an ended lease");
      if (lease.pending()) runs(lease);
      return;
    case JobState::kEnding:
      if (transitions_.accept(lease, News::kJobEnding)) ends(lease, view);
      return;
    case JobState::kEnded:
      if (transitions_.accept(lease, News::kJobEnded)) ending_.finish(lease, reason_of_end(lease, view));
      return;
  }
}

void JobNews::runs(Lease& lease) {
  lease.last_busy = context_.now();
  transitions_.enter(lease, LeaseState::kStarting, {.code = CauseCode::kJobRuns, .job = lease.job->job.value});
  notices_.introduce(lease);
  transitions_.refresh(lease);  // an interpreter may have been announced before the job was known
  context_.polling.soon(context_.times.poll_min);
}

// Its processes are dying. Where the reason is known already, the owner need not wait for the rest.
void JobNews::ends(Lease& lease, const JobView& view) {
  if (lease.state == LeaseState::kEnding) {
    if (lease.may_run) ending_.detach(lease, reason_of_end(lease, view));
    return;
  }
  transitions_.enter(lease, LeaseState::kEnding, CauseCode::kSlurmEndsJob);
  context_.polling.soon(context_.times.poll_min);
  if (view.end == JobEnd::kNone && !lease.end) return;
  lease.end = reason_of_end(lease, view);
  ending_.detach(lease, *lease.end);
}

// The typed reason, and what it means for the request that the lease served.
Error JobNews::reason_of_end(Lease& lease, const JobView& view) {
  if (view.end == JobEnd::kGone) context_.reconciliation.doubt();  // or was it requeued, and has another submit time?
  const bool foreign = view.end == JobEnd::kCancelled && !lease.cancelled_by_us;
  const bool node_failed = view.end == JobEnd::kNodeFail && lease.may_run;
  if (lease.end && !foreign && !node_failed) return *lease.end;
  const Error why = error_of_end(view, std::chrono::seconds(lease.facts.grace_s));
  RequestState* record = context_.sessions.request_of(lease);
  if (record != nullptr && foreign)
    requests_.no_replacement(*record, CauseCode::kCancelledOutside);
  const bool bad_start = view.end == JobEnd::kCompleted || view.end == JobEnd::kFailed || view.end == JobEnd::kNotStarted ||
                         view.end == JobEnd::kGone;
  if (is_of_srun(why))
    requests_.fail(lease, why);  // workers of its first node were ready perhaps; the next lease would end as this one
  else if (bad_start)
    requests_.count_bad_start(lease, why);
  return why;
}

}  // namespace pounce::lease
