#include "core/lease/submission.h"

#include <algorithm>
#include <tuple>

#include "core/lease/job_end.h"

namespace pounce::lease {

void Submission::settle(Lease& lease) {
  if (!context_.sessions.needed(lease)) {
    transitions_.accept(lease, News::kDemandGone);
    return ending_.give_back(lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kNothingWaits));
  }
  if (!context_.reconciliation.done_once() || context_.slurm.lost()) return;
  const RequestState* record = context_.sessions.request_of(lease);
  if (record != nullptr && !context_.due(record->not_before)) return;
  if (const std::size_t an_hour = context_.times.starts_per_hour; an_hour > 0) {
    const TimePoint start = rate_.next(context_.now(), an_hour, before_in_line(lease));
    if (start > context_.now()) return wait_for_start(lease, start);
  }
  if (transitions_.accept(lease, News::kTimePassed)) submit(lease);
}

void Submission::submit(Lease& lease) {
  if (RequestState* record = context_.sessions.request_of(lease)) record->wait_reason = {}, record->starts_at = {};
  context_.act(RecordIntent{journal_line(lease, JournalRecord::Kind::kIntent)});
  context_.act(SubmitJob{lease.id, lease.resources, lease.owner->session});
  lease.journalled = lease.submit_under_way = true;
  ++context_.count().submits;
  if (context_.times.starts_per_hour > 0) rate_.started(context_.now());
  transitions_.enter(lease, LeaseState::kSubmitting, CauseCode::kSubmitted);
}

std::size_t Submission::before_in_line(const Lease& lease) const {
  return static_cast<std::size_t>(std::ranges::count_if(context_.leases, [&](const auto& entry) {
    const Lease& other = entry.second;
    const RequestState* record = context_.sessions.request_of(other);
    const bool holds_off = record != nullptr && record->not_before > context_.now();  // for a reason of its own
    return other.state == LeaseState::kRequested && !holds_off && std::tie(other.born, other.id) < std::tie(lease.born, lease.id);
  }));
}

void Submission::wait_for_start(Lease& lease, TimePoint start) {
  context_.due(start);
  RequestState* record = context_.sessions.request_of(lease);
  const Cause reason{.code = CauseCode::kStartRate, .number = context_.times.starts_per_hour};
  if (record == nullptr || (record->starts_at == start && record->wait_reason == reason)) return;
  record->starts_at = start;
  record->wait_reason = reason;
  notices_.tell(lease);
}

Lease* Submission::under_way(const LeaseId& id) {
  Lease* lease = context_.leases.find(id);
  if (lease != nullptr && lease->submit_under_way) return lease;
  context_.ignore("an answer to no submission under way");
  return nullptr;
}

void Submission::on(const Submitted& event) {
  Lease* lease = under_way(event.lease);
  if (lease == nullptr) return;
  lease->submit_under_way = false;
  lease->seen_waiting = true;
  if (!transitions_.accept(*lease, News::kSubmitted)) return;
  if (lease->over()) return ending_.cancel_excess(event.job, "the job of an ended lease");
  if (!event.note.empty()) lease->history.add(context_.now(), {.code = CauseCode::kSaid, .said = event.note});
  if (!lease->job || (lease->job->job == event.job.job && lease->job->submit_time_s == 0)) {
    lease->job = event.job;
    context_.act(RecordOutcome{journal_line(*lease, JournalRecord::Kind::kSubmitted)});
  }
  lease->doubt_from = context_.reconciliation.begun();
  if (RequestState* record = context_.sessions.request_of(*lease)) record->backoff = {};
  if (lease->state == LeaseState::kSubmitting)
    transitions_.enter(*lease, LeaseState::kQueued, {.code = CauseCode::kInQueue, .job = event.job.job.value});
  context_.polling.soon(context_.times.poll_min);
}

void Submission::on(const SubmitFailed& event) {
  Lease* lease = under_way(event.lease);
  if (lease == nullptr) return;
  lease->submit_under_way = false;
  if (!clear_refusal(event.error.code)) return submit_unclear(*lease, event.error);
  if (!transitions_.accept(*lease, News::kSubmitRefused)) return;
  const auto owner = lease->owner;
  RequestState* record = context_.sessions.request_of(*lease);
  ending_.finish(*lease, event.error);  // told first: whoever hears of the request's failure finds no lease any more
  if (record != nullptr) requests_.fail(*owner, *record, event.error);
}

void Submission::submit_unclear(Lease& lease, const Error& error) {
  if (!transitions_.accept(lease, News::kSubmitUnclear)) return;
  lease.doubt_from = context_.reconciliation.begun();
  lease.absent = 0;
  context_.reconciliation.doubt();
  lease.history.add(context_.now(), {.code = CauseCode::kOutcomeUnknown, .because = {cause_of(error)}});
  if (RequestState* record = context_.sessions.request_of(lease)) requests_.hold_off(*record, error);
  notices_.tell(lease);
}

}  // namespace pounce::lease
