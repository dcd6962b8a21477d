// What Slurm says about one job, from a poll or a reconciliation, and what follows for its lease; and when Slurm is
// polled. A state this build cannot name changes nothing; a job id means nothing without its restart count.
#include <algorithm>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- when Slurm is polled -----------------------------------------------------------------------------------------

namespace {

constexpr std::chrono::seconds kClosely{10};      // a batch system needs one or two to notice a dead process
constexpr int kCloser = 4;                        // than poll_min
constexpr std::chrono::seconds kRecordComes{20};  // of a job's end in slurmdbd (daemon/pounce-slurm/final_state.cc)

bool to_poll(const Core& core, const Lease& lease) {
  if (!lease.job || !lease.journalled || lease.over()) return false;
  if (lease.absent > 0) return true;
  const bool silent = !lease.linked() || core.now - lease.last_seen >= core.times.worker_silence;
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
    case LeaseState::kRequested:
    case LeaseState::kEnded:
      return false;
  }
  return false;
}

}  // namespace

void poll_soon(Core& core, Duration wait) {
  core.polling.wait = core.times.poll_min;
  core.polling.at = std::min(core.polling.at, core.now + wait);
  core.changed = true;
}

// A process that dies loses its connections first. Only the batch system can say why it died, and the owner waits for
// that.
void poll_closely(Core& core) {
  core.polling.closely_until = core.now + kClosely;
  poll_soon(core, Duration{});
}

bool poll_answered(Core& core) {
  Polling& polling = core.polling;
  if (!polling.under_way) return false;
  polling.under_way = false;
  core.changed = true;
  if (core.now < polling.closely_until) {
    polling.at = core.now + Duration(core.times.poll_min) / kCloser;
    return true;
  }
  polling.at = core.now + polling.wait;
  polling.wait = std::clamp<Duration>(polling.wait * 2, core.times.poll_min, core.times.poll_max);
  return true;
}

void settle_polling(Core& core) {
  if (core.polling.under_way) return;
  PollJobs poll;
  for (const auto& [id, lease] : core.leases) {
    if (!to_poll(core, lease)) continue;
    poll.jobs.push_back(*lease.job);
    if (lease.unheard()) poll.unheard.push_back(lease.job->job);
  }
  if (poll.jobs.empty()) {
    core.polling.at = TimePoint::max();
    return;
  }
  if (core.polling.at == TimePoint::max()) poll_soon(core, core.times.poll_min);
  if (!core.due(core.polling.at)) return;
  core.polling.under_way = true;
  ++core.counters.polls;
  core.act(std::move(poll));
}

void on(Core& core, const Polled& event) {
  if (!poll_answered(core)) return core.ignore();
  tell_of_slurm(core, event.jobs);
  if (!event.jobs) return;
  for (const JobView& view : *event.jobs) {
    if (view.instance && *view.instance != core.instance) continue;
    if (Lease* lease = lease_of_job(core, view)) job_seen(core, *lease, view);
  }
}

// ---- which run of the job it is -----------------------------------------------------------------------------------

namespace {

// false: old news, or news that has been dealt with here.
bool identify(Core& core, Lease& lease, const JobView& view) {
  if (!lease.job) {
    lease.job = view.job_identity;
    if (lease.journalled) core.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kSubmitted)});
    return true;
  }
  if (view.job_identity.restart < lease.job->restart) return false;
  if (view.job_identity.restart > lease.job->restart) {
    if (!accept(core, lease, Trigger::kJobRequeued)) return false;
    return job_requeued(core, lease, view.job_identity);
  }
  lease.job->submit_time_s = view.job_identity.submit_time_s;  // Slurm's own stamp, if it was not known exactly
  return true;
}

// Workers that came before the lease was known are of the earlier run.
void forget_workers(Core& core, Lease& lease, const JobIdentity& next) {
  end_workers(core, lease, {.code = CauseCode::kJobRequeued, .job = next.job.value}, false);
  lease.workers.clear();
}

}  // namespace

// Before it ran a requeue is harmless. Afterwards it is another job identity: what ran is lost, and the user's tasks
// decide whether there is another lease. true: go on with the view.
bool job_requeued(Core& core, Lease& lease, const JobIdentity& next) {
  lease.job = next;
  core.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kSubmitted)});
  if (lease.pending()) {
    forget_workers(core, lease, next);
    return true;
  }
  if (!lease.end)
    lease.end = error_of(ErrorCode::kLeaseEnded, Cause{.code = CauseCode::kJobRequeued, .job = next.job.value});
  lease.cancel_under_way = false;
  cancel(core, lease);
  return false;
}

// ---- what its state means -----------------------------------------------------------------------------------------

namespace {

void job_runs(Core& core, Lease& lease) {
  lease.last_busy = core.now;
  enter(core, lease, LeaseState::kStarting, {.code = CauseCode::kJobRuns, .job = lease.job->job.value});
  introduce(core, lease);
  refresh(core, lease);  // an interpreter may have been announced before the job was known
  poll_soon(core, core.times.poll_min);
}

// The typed reason, and what it means for the request that the lease served.
Error reason_of_end(Core& core, Lease& lease, const JobView& view) {
  if (view.end == JobEnd::kGone) doubt(core);  // or was it requeued, and has another submit time?
  const bool foreign = view.end == JobEnd::kCancelled && !lease.cancelled_by_us;
  const bool node_failed = view.end == JobEnd::kNodeFail && lease.may_run;
  if (lease.end && !foreign && !node_failed) return *lease.end;
  const Error why = job::error_of_end(view, std::chrono::seconds(lease.facts.grace_s));
  RequestState* record = request_of(core, lease);
  if (record != nullptr && foreign) no_replacement(core, *record, CauseCode::kCancelledOutside);
  const bool bad_start = view.end == JobEnd::kCompleted || view.end == JobEnd::kFailed ||
                         view.end == JobEnd::kNotStarted || view.end == JobEnd::kGone;
  if (job::is_of_srun(why))
    fail(core, lease, why);  // workers of its first node were ready perhaps; the next lease would end as this one
  else if (bad_start)
    count_bad_start(core, lease, why);
  return why;
}

// Its processes are dying. Where the reason is known already, the owner need not wait for the rest.
void job_ends(Core& core, Lease& lease, const JobView& view) {
  if (lease.state == LeaseState::kEnding) {
    if (lease.may_run) detach(core, lease, reason_of_end(core, lease, view));
    return;
  }
  enter(core, lease, LeaseState::kEnding, CauseCode::kSlurmEndsJob);
  poll_soon(core, core.times.poll_min);
  if (view.end == JobEnd::kNone && !lease.end) return;
  lease.end = reason_of_end(core, lease, view);
  detach(core, lease, *lease.end);
}

void job_queued(Core& core, Lease& lease, const JobView& view) {
  if (lease.over()) return cancel_excess(core, view.job_identity);
  lease.seen_waiting = true;
  if (lease.state != LeaseState::kSubmitting) return;
  // A worker of this very run has come: the view is older than it.
  if (!lease.workers.empty() && accept(core, lease, Trigger::kJobRunning)) return job_runs(core, lease);
  enter(core, lease, LeaseState::kQueued, {.code = CauseCode::kInQueue, .job = view.job_identity.job.value});
  poll_soon(core, core.times.poll_min);
}

void tell_lease(Core& core, Lease& lease, const JobView& view) {
  switch (view.state) {
    case JobState::kUnknown:
      // Its worker, where there is one, knows better.
      if (lease.pending() && lease.linked() && accept(core, lease, Trigger::kJobRunning)) return job_runs(core, lease);
      if (accept(core, lease, Trigger::kJobUnknown))
        lease.history.add(core.now, {.code = CauseCode::kUnknownState, .word = view.state_name});
      return;
    case JobState::kQueued:
      if (accept(core, lease, Trigger::kJobQueued)) job_queued(core, lease, view);
      return;
    case JobState::kRunning:
      if (!accept(core, lease, Trigger::kJobRunning)) return;
      if (lease.over()) return cancel_excess(core, view.job_identity);
      if (lease.pending()) job_runs(core, lease);
      return;
    case JobState::kEnding:
      if (accept(core, lease, Trigger::kJobEnding)) job_ends(core, lease, view);
      return;
    case JobState::kEnded:
      if (accept(core, lease, Trigger::kJobEnded)) finish(core, lease, reason_of_end(core, lease, view));
      return;
  }
}

// ---- what is known of it ------------------------------------------------------------------------------------------

// "GPU 0" is the worker's word, which a user reads. Slurm's is gpu:a100:1(IDX:0); of a queued job it says what the job
// wants.
std::string devices_of(const Lease& lease, const JobView& view) {
  if (view.state == JobState::kQueued) return {};
  const std::string& before = lease.facts.devices;
  return view.devices.empty() || (!lease.workers.empty() && !before.empty()) ? before : view.devices;
}

// A job is compared only in what was requested and what Slurm tells of it. It tells one CPU neither way.
model::Given given_of(const Lease& lease, const JobView& view) {
  const auto other = [](auto requested, auto given) {
    const decltype(given) none{};
    return requested > none && given > none && given != requested ? given : none;
  };
  const Resources &requested = lease.resources, &given = view.resources;
  return {other(requested.gpus, given.gpus), other(requested.cpus, given.cpus),
          other(requested.memory_mib, given.memory_mib), other(requested.time, given.time)};
}

// A job ended before a worker came. Who ended it only slurmdbd knows, and pounce-slurm calls the job ending until it
// does. The next job waits for that, so the looks must not widen.
bool awaits_record(const Core& core, const Lease& lease) {
  return lease.state == LeaseState::kEnding && lease.unheard() && core.now < lease.since + kRecordComes;
}

JobFacts facts_of(const Lease& lease, const JobView& view) {
  JobFacts facts{job::waiting_of(view), view.nodes,         devices_of(lease, view), view.start_time_s, view.end_time_s,
                 given_of(lease, view), lease.facts.grace_s};
  if (view.preempt_time_s != 0 && view.state == JobState::kRunning)
    facts.grace_s = std::max<std::int64_t>(view.end_time_s - view.preempt_time_s, 0);
  if (facts.node.empty()) facts.node = lease.facts.node;
  return facts;
}

}  // namespace

void job_seen(Core& core, Lease& lease, const JobView& view) {
  if (lease.submit_under_way && view.state == JobState::kEnded) return;  // its own reply is on the way
  if (!identify(core, lease, view)) return;
  lease.absent = 0;
  if (view.state == JobState::kUnknown) return tell_lease(core, lease, view);
  // A job that is ending by itself does not run again: such a view was only slow to arrive.
  const bool by_itself = lease.state == LeaseState::kEnding && !lease.end;
  lease.job_ending = by_itself || view.state == JobState::kEnding;
  const JobFacts before = std::exchange(lease.facts, facts_of(lease, view));
  lease.times_known = lease.times_known || view.state == JobState::kRunning;
  const LeaseState was = lease.state;
  tell_lease(core, lease, view);
  if (awaits_record(core, lease)) poll_soon(core, core.times.poll_min);
  if (lease.state == was && !(lease.facts == before)) tell_owner(core, lease);
}

}  // namespace pounce::lease
