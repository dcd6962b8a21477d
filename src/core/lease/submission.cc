// From a request to a job: the intent is on disk before the submission. An answer that is not a clear yes or no is a
// doubt, and only a reconciliation resolves a doubt. One lease id is submitted once; a new try is a new lease. Here
// too: what stands in the way of a request, and how many leases this site lets one daemon start in an hour.
#include <algorithm>
#include <tuple>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- what stands in the way of a request --------------------------------------------------------------------------

void fail(Core& core, const Owner& owner, RequestState& record, const Error& error) {
  record.failed = error;
  record.failed_waiting = record.request.waiting;
  record.failed_running = record.request.running;
  record.bad_starts = 0;
  core.act(TellRequestFailed{owner.session, owner.request, error});
}

void fail(Core& core, const Lease& lease, const Error& error) {
  if (RequestState* record = request_of(core, lease)) fail(core, *lease.owner, *record, with_evidence(lease, error));
}

void hold_off(Core& core, RequestState& record, const Error& error) {
  const Duration least = core.times.poll_min, most = core.times.poll_max;
  record.backoff = std::clamp<Duration>(record.backoff * 2, least, most);
  record.not_before = core.now + record.backoff;
  record.on_purpose = false;
  record.wait_reason = {.code = CauseCode::kRetrySoon, .because = {cause_of(error)}};
}

void no_replacement(Core& core, RequestState& record, CauseCode why) {
  record.not_before = core.now + core.times.no_replacement;
  record.on_purpose = true;
  record.wait_reason = {why};
}

void count_bad_start(Core& core, const Lease& lease, const Error& why, bool give_up) {
  if (lease.was_whole()) return;
  RequestState* record = request_of(core, lease);
  if (record == nullptr) return;
  if (++record->bad_starts < core.times.crash_limit && !give_up) return hold_off(core, *record, why);
  fail(core, lease, why);
}

// ---- the rate of starts -------------------------------------------------------------------------------------------

// The leases that have waited longest go first: the n-th in line starts when n starts are older than an hour, so each
// can be told when.
TimePoint next_start(Core& core, std::size_t before) {
  static constexpr std::chrono::hours kHour{1};
  const TimePoint now = core.now;
  const std::size_t an_hour = core.times.starts_per_hour;
  std::erase_if(core.starts, [now](TimePoint start) { return start + kHour <= now; });
  const std::size_t free = an_hour - std::min(an_hour, core.starts.size());
  if (before < free) return now;
  return (before - free < core.starts.size() ? core.starts[before - free] : now) +
         kHour;  // else behind one that starts now
}

namespace {

std::size_t before_in_line(const Core& core, const Lease& lease) {
  return static_cast<std::size_t>(std::ranges::count_if(core.leases, [&](const auto& entry) {
    const Lease& other = entry.second;
    const RequestState* record = request_of(core, other);
    const bool holds_off = record != nullptr && record->not_before > core.now;  // for a reason of its own
    return other.state == LeaseState::kRequested && !holds_off &&
           std::tie(other.born, other.id) < std::tie(lease.born, lease.id);
  }));
}

void wait_for_start(Core& core, Lease& lease, TimePoint start) {
  core.due(start);
  RequestState* record = request_of(core, lease);
  const Cause reason{.code = CauseCode::kStartRate, .number = core.times.starts_per_hour};
  if (record == nullptr || (record->starts_at == start && record->wait_reason == reason)) return;
  record->starts_at = start;
  record->wait_reason = reason;
  tell_owner(core, lease);
}

// ---- the submission -----------------------------------------------------------------------------------------------

void submit(Core& core, Lease& lease) {
  if (RequestState* record = request_of(core, lease)) record->wait_reason = {}, record->starts_at = {};
  core.act(RecordIntent{journal_line(lease, JournalRecord::Kind::kIntent)});
  core.act(SubmitJob{lease.id, lease.resources, lease.owner->session});
  lease.journalled = lease.submit_under_way = true;
  ++core.counters.submits;
  if (core.times.starts_per_hour > 0) core.starts.push_back(core.now);
  enter(core, lease, LeaseState::kSubmitting, CauseCode::kSubmitted);
}

}  // namespace

void settle_submission(Core& core, Lease& lease) {
  if (!needed(core, lease)) {
    accept(core, lease, Trigger::kDemandGone);
    return give_back(core, lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kNothingWaits));
  }
  if (!core.reconciliation.done_once || core.slurm.lost) return;
  const RequestState* record = request_of(core, lease);
  if (record != nullptr && !core.due(record->not_before)) return;
  if (core.times.starts_per_hour > 0) {
    const TimePoint start = next_start(core, before_in_line(core, lease));
    if (start > core.now) return wait_for_start(core, lease, start);
  }
  if (accept(core, lease, Trigger::kTimePassed)) submit(core, lease);
}

// ---- its answer ---------------------------------------------------------------------------------------------------

namespace {

// A refusal that the same request would get again: the request fails. Every other code leaves it open whether a job
// exists.
bool clear_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadRequest:
    case ErrorCode::kUnknownClass:
    case ErrorCode::kNoAssociation:
    case ErrorCode::kUnsatisfiable:
    case ErrorCode::kRejected:
    case ErrorCode::kNoSlurm:
    case ErrorCode::kVersionMismatch:  // no pounce-slurm that fits: Slurm did not hear of the job
    case ErrorCode::kSlurmConfig:
    case ErrorCode::kRefusesRoot:
    case ErrorCode::kDaemonUnavailable:  // it could not write its journal: it submitted no job
      return true;
    default:
      return false;
  }
}

Lease* submission_under_way(Core& core, const LeaseId& id) {
  Lease* lease = find_lease(core, id);
  if (lease != nullptr && lease->submit_under_way) return lease;
  core.ignore();
  return nullptr;
}

void submit_unclear(Core& core, Lease& lease, const Error& error) {
  if (!accept(core, lease, Trigger::kSubmitUnclear)) return;
  lease.doubt_from = core.reconciliation.begun;
  lease.absent = 0;
  doubt(core);
  lease.history.add(core.now, {.code = CauseCode::kOutcomeUnknown, .because = {cause_of(error)}});
  if (RequestState* record = request_of(core, lease)) hold_off(core, *record, error);
  tell_owner(core, lease);
}

}  // namespace

void on(Core& core, const Submitted& event) {
  Lease* lease = submission_under_way(core, event.lease);
  if (lease == nullptr) return;
  lease->submit_under_way = false;
  lease->seen_waiting = true;
  if (!accept(core, *lease, Trigger::kSubmitted)) return;
  if (lease->over()) return cancel_excess(core, event.job);
  if (!event.note.empty()) lease->history.add(core.now, {.code = CauseCode::kSaid, .said = event.note});
  if (!lease->job || (lease->job->job == event.job.job && lease->job->submit_time_s == 0)) {
    lease->job = event.job;
    core.act(RecordOutcome{journal_line(*lease, JournalRecord::Kind::kSubmitted)});
  }
  lease->doubt_from = core.reconciliation.begun;
  if (RequestState* record = request_of(core, *lease)) record->backoff = {};
  if (lease->state == LeaseState::kSubmitting)
    enter(core, *lease, LeaseState::kQueued, {.code = CauseCode::kInQueue, .job = event.job.job.value});
  poll_soon(core, core.times.poll_min);
}

void on(Core& core, const SubmitFailed& event) {
  Lease* lease = submission_under_way(core, event.lease);
  if (lease == nullptr) return;
  lease->submit_under_way = false;
  if (!clear_refusal(event.error.code)) return submit_unclear(core, *lease, event.error);
  if (!accept(core, *lease, Trigger::kSubmitRefused)) return;
  const auto owner = lease->owner;
  RequestState* record = request_of(core, *lease);
  finish(core, *lease,
         event.error);  // told first: a session that hears of the request's failure finds no lease any more
  if (record != nullptr) fail(core, *owner, *record, event.error);
}

}  // namespace pounce::lease
