// The way out: draining (the worker was told), ending (Slurm was told, until it shows no job), ended. The owner hears
// of it once, as early as its tasks cannot be served any more. A lease takes it when a user wants it back, and for
// time's sake: no interpreter in time, idle for too long, without an owner, a silent worker. At last the daemon itself
// may end.
#include <algorithm>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- from a worker to no job --------------------------------------------------------------------------------------

namespace {

void tell_end(Core& core, const Lease& lease, const Owner& to, const Error& why) {
  core.act(TellLeaseEnded{to.session, to.request, lease.id, with_evidence(lease, why)});
  holds_no_more(core, to, lease.id);
}

void drain(Core& core, Lease& lease, bool only_if_idle) {
  end_workers(core, lease, cause_of(*lease.end), only_if_idle);
  lease.only_if_idle = only_if_idle;
  enter(core, lease, LeaseState::kDraining, cause_of(*lease.end));
  poll_soon(core, core.times.poll_min);  // in case its farewell is lost
  if (!only_if_idle) detach(core, lease, *lease.end);
}

void send_cancel(Core& core, Lease& lease) {
  if (!lease.identified() || lease.cancel_under_way) return;
  lease.cancelled_by_us = lease.cancel_under_way = true;
  lease.cancel_again = core.now + lease.cancel_wait;
  lease.cancel_wait = std::clamp<Duration>(lease.cancel_wait * 2, core.times.poll_min, core.times.poll_max);
  ++core.counters.cancels;
  core.act(CancelJob{lease.id, *lease.job});
}

void end_job(Core& core, Lease& lease) {
  lease.only_if_idle = false;
  enter(core, lease, LeaseState::kEnding, cause_of(*lease.end));
  lease.cancel_wait = core.times.poll_min;
  send_cancel(core, lease);
  poll_soon(core, core.times.poll_min);
}

}  // namespace

void give_back(Core& core, Lease& lease, Error why, bool only_if_idle) {
  if (!lease.end || !only_if_idle) lease.end = std::move(why);
  switch (lease.state) {
    case LeaseState::kRequested:
      lease.owner.reset();
      return finish(core, lease, *lease.end);
    case LeaseState::kSubmitting:  // a job may exist: it is cancelled as soon as it is known
      lease.owner.reset();
      lease.unclaimed_since = core.now;
      core.changed = true;
      return;
    case LeaseState::kQueued:
      return cancel(core, lease);
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return lease.linked() ? drain(core, lease, only_if_idle) : cancel(core, lease);
    case LeaseState::kDraining:  // also one that is cut off: it was told before
      return drain(core, lease, only_if_idle);
    case LeaseState::kEnding:
      return detach(core, lease, *lease.end);
    case LeaseState::kEnded:
      return;
  }
}

void end_workers(Core& core, const Lease& lease, const Cause& why, bool only_if_idle) {
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) core.act(EndWorker{lease.id, worker.link, why, only_if_idle});
}

void cancel(Core& core, Lease& lease) {
  end_job(core, lease);
  detach(core, lease, *lease.end);
}

void cancel_excess(Core& core, const JobIdentity& job) {
  ++core.counters.cancels;
  doubt(core);  // until none is left
  core.act(CancelJob{LeaseId{}, job});
}

void finish(Core& core, Lease& lease, Error why) {
  enter(core, lease, LeaseState::kEnded, cause_of(why));
  detach(core, lease, why);
  if (lease.journalled)
    core.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kEnded, cause_of(why)), why.code});
  for (const Owner& holder : concerned(core, lease)) tell_end(core, lease, holder, why);
  lease.end = std::move(why);
  lease.workers.clear();
  lease.only_if_idle = false;
  core.ended.push_back(lease.id);
}

void detach(Core& core, Lease& lease, const Error& why) {
  if (!lease.owner) return;
  tell_end(core, lease, Owner(*lease.owner), why);
  lease.owner.reset();
  lease.unclaimed_since = core.now;
}

void on(Core& core, const CancelDone& event) {
  Lease* lease = find_lease(core, event.lease);
  if (lease == nullptr) return core.ignore();
  if (!accept(core, *lease, Trigger::kCancelDone)) return;
  lease->cancel_under_way = false;
  lease->history.add(
      core.now, event.outcome ? Cause{CauseCode::kCancelDone}
                              : Cause{.code = CauseCode::kCancelFailed, .because = {cause_of(event.outcome.error())}});
  poll_soon(core, event.outcome ? Duration{} : Duration(core.times.poll_min));
}

// ---- a draining or ending lease -----------------------------------------------------------------------------------

namespace {

// A worker that was told to leave if idle, and cannot answer, may have read a task that came meanwhile. Its owner would
// run the task elsewhere at once (`retries=`), and both runs would be under way.
void leave_no_longer(Core& core, Lease& lease) {
  const RequestState* record = request_of(core, lease);
  lease.may_run = record != nullptr ? record->request.running > 0 : needed(core, lease);
  if (lease.may_run) return end_job(core, lease);
  cancel(core, lease);
}

// A worker that saves has longer, and then as long as any other.
TimePoint patience_until(const Core& core, const Lease& lease) {
  if (lease.saving()) return lease.since + std::max(core.times.leave, core.times.drain);
  return std::max(lease.since, lease.last_saving) + core.times.drain;
}

}  // namespace

void settle_end(Core& core, Lease& lease) {
  if (lease.state == LeaseState::kDraining) {
    if (core.due(patience_until(core, lease)) && accept(core, lease, Trigger::kTimePassed))
      leave_no_longer(core, lease);
    return;
  }
  if (lease.cancel_under_way || lease.job_ending || !lease.identified()) return;
  if (core.due(lease.cancel_again) && accept(core, lease, Trigger::kTimePassed)) send_cancel(core, lease);
}

// ---- before its idle time is over ---------------------------------------------------------------------------------

// Other jobs wait for what these leases hold.
void on(Core& core, const QueueSnapshotTaken& event) {
  for (Lease* lease : wanted_by_others(core, event)) {
    if (!accept(core, *lease, Trigger::kOtherJobWaits)) continue;
    const Cause waits{.code = CauseCode::kOtherJobWaits,
                      .number = static_cast<std::uint32_t>(lease->resources.all_gpus())};
    give_back(core, *lease, error_of(ErrorCode::kLeaseEnded, waits), true);
  }
}

namespace {

void release_now(Core& core, Lease& lease, const Error& why) {
  if (lease.end && !lease.only_if_idle) return;  // it is on its way out, for its own reason
  if (RequestState* record = request_of(core, lease); record != nullptr && record->demanded()) {
    // A demand that is on its way may still name the tasks that end here: it must not start another job.
    no_replacement(core, *record, CauseCode::kReleasedByUser);
    if (record->request.waiting > 0) fail(core, *lease.owner, *record, why);  // a running task hears of the lease's end
  }
  give_back(core, lease, why);
}

}  // namespace

// A user wants a lease back. When it is idle: its tasks come first. Now: what waits for it or runs on it ends with the
// reason given, and nothing new is submitted in its place.
void on(Core& core, const ReleaseAsked& event) {
  Lease* lease = find_lease(core, event.lease);
  if (lease == nullptr) return core.ignore();
  if (!accept(core, *lease, Trigger::kReleaseAsked)) return;
  if (event.now) return release_now(core, *lease, event.why);
  lease->release_asked = true;
  lease->history.add(core.now, CauseCode::kToBeReleased);
}

// ---- for time's sake ----------------------------------------------------------------------------------------------

namespace {

// Its worker is silent, its task may be running: a result may still come, until the batch system shows that it ends.
void give_up_lease(Core& core, Lease& lease) {
  const auto silence = std::chrono::duration_cast<std::chrono::seconds>(core.now - lease.last_seen);
  lease.end = error_of(ErrorCode::kLost, {.code = CauseCode::kWorkerSilent, .time = silence, .node = lease.facts.node});
  lease.may_run = true;
  end_job(core, lease);
}

// Where Slurm does not answer either, perhaps this daemon cannot be reached.
bool worker_lost(Core& core, const Lease& lease) {
  if (lease.workers.empty() || core.slurm.lost) return false;
  return core.due(std::max(lease.last_seen, core.slurm.back_since) + core.times.lost_after);
}

std::optional<Error> deadline_passed(Core& core, const Lease& lease) {
  const auto ended = [](CauseCode why) { return error_of(ErrorCode::kLeaseEnded, why); };
  const bool idle = unneeded(core, lease);
  if (lease.state == LeaseState::kStarting && core.due(lease.since + core.times.hello_deadline))
    return ended(CauseCode::kNoInterpreter);
  if (idle && lease.release_asked) return ended(CauseCode::kReleasedWhenIdle);
  if (idle && core.due(lease.last_busy + kept(core))) return ended(CauseCode::kIdle);
  const bool unclaimed = !lease.owner && !idle && !lease.runs_kept();
  if (unclaimed && core.due(lease.unclaimed_since + core.times.orphan_grace)) return ended(CauseCode::kUnclaimed);
  return std::nullopt;
}

void note_silence(Core& core, Lease& lease) {
  if (!lease.linked() || lease.silence_noted) return;
  if (!core.due(lease.last_seen + core.times.worker_silence)) return;
  lease.silence_noted = true;
  const auto workers = static_cast<std::uint32_t>(lease.workers.size());
  lease.history.add(core.now, {.code = CauseCode::kWorkersSilent, .number = workers});
  poll_soon(core, Duration{});
}

}  // namespace

void settle_deadlines(Core& core, Lease& lease) {
  if (lease.end) {  // decided while its submission was under way
    if (accept(core, lease, Trigger::kOwnerGone)) give_back(core, lease, *lease.end);
    return;
  }
  note_silence(core, lease);
  if (worker_lost(core, lease)) {
    if (accept(core, lease, Trigger::kTimePassed)) give_up_lease(core, lease);
    return;
  }
  const bool wanted = needed(core, lease);
  if (lease.owner && !wanted && lease.state == LeaseState::kQueued) {
    accept(core, lease, Trigger::kDemandGone);
    return give_back(core, lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kNothingWaits));
  }
  if (const auto why = deadline_passed(core, lease)) {
    if (!accept(core, lease, Trigger::kTimePassed)) return;
    if (lease.state == LeaseState::kStarting && wanted) count_bad_start(core, lease, *why);
    give_back(core, lease, *why, lease.state == LeaseState::kIdle);
  }
}

void settle_daemon(Core& core) {
  if (!core.reconciliation.journal_read) return;
  const bool any_live = std::ranges::any_of(core.leases, [](const auto& entry) { return !entry.second.over(); });
  if (!core.sessions.empty() || any_live) {
    core.unused_since.reset();
    core.end_ordered = false;
    return;
  }
  if (!core.unused_since) core.unused_since = core.now;
  if (core.end_ordered || !core.due(*core.unused_since + core.times.daemon_idle_exit)) return;
  core.end_ordered = true;
  core.act(EndDaemon{});
}

}  // namespace pounce::lease
