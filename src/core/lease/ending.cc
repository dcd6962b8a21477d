#include "core/lease/ending.h"

#include <algorithm>

namespace pounce::lease {

void Ending::give_back(Lease& lease, Error why, bool only_if_idle) {
  if (!lease.end || !only_if_idle) lease.end = std::move(why);
  switch (lease.state) {
    case LeaseState::kRequested:
      lease.owner.reset();
      return finish(lease, *lease.end);
    case LeaseState::kSubmitting:  // a job may exist: it is cancelled as soon as it is known
      lease.owner.reset();
      lease.unclaimed_since = context_.now();
      context_.change();
      return;
    case LeaseState::kQueued:
      return cancel(lease);
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return lease.linked() ? drain(lease, only_if_idle) : cancel(lease);
    case LeaseState::kDraining:  // also one that is cut off: it was told before
      return drain(lease, only_if_idle);
    case LeaseState::kEnding:
      return detach(lease, *lease.end);
    case LeaseState::kEnded:
      return;
  }
}

void Ending::drain(Lease& lease, bool only_if_idle) {
  send_away(lease, cause_of(*lease.end), only_if_idle);
  lease.only_if_idle = only_if_idle;
  transitions_.enter(lease, LeaseState::kDraining, cause_of(*lease.end));
  context_.polling.soon(context_.times.poll_min);  // in case its farewell is lost
  if (!only_if_idle) detach(lease, *lease.end);
}

void Ending::send_away(const Lease& lease, const Cause& why, bool only_if_idle) {
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) context_.act(EndWorker{lease.id, worker.link, why, only_if_idle});
}

void Ending::cancel(Lease& lease) {
  end_job(lease);
  detach(lease, *lease.end);
}

// Its worker is silent, its task may be running: a result may still come, until the batch system shows that it ends.
void Ending::give_up(Lease& lease) {
  const auto silence = std::chrono::duration_cast<std::chrono::seconds>(context_.now() - lease.last_seen);
  lease.end = error_of(ErrorCode::kLost, {.code = CauseCode::kWorkerSilent, .time = silence, .node = lease.facts.node});
  lease.may_run = true;
  end_job(lease);
}

void Ending::end_job(Lease& lease) {
  lease.only_if_idle = false;
  transitions_.enter(lease, LeaseState::kEnding, cause_of(*lease.end));
  lease.cancel_wait = context_.times.poll_min;
  send_cancel(lease);
  context_.polling.soon(context_.times.poll_min);
}

void Ending::send_cancel(Lease& lease) {
  if (!lease.identified() || lease.cancel_under_way) return;
  lease.cancelled_by_us = lease.cancel_under_way = true;
  lease.cancel_again = context_.now() + lease.cancel_wait;
  lease.cancel_wait = std::clamp<Duration>(lease.cancel_wait * 2, context_.times.poll_min, context_.times.poll_max);
  ++context_.count().cancels;
  context_.act(CancelJob{lease.id, *lease.job});
}

void Ending::cancel_excess(const JobIdentity& job, const std::string& what) {
  ++context_.count().cancels;
  context_.reconciliation.doubt();  // until none is left
  context_.note("cancelled " + what);
  context_.act(CancelJob{LeaseId{}, job});
}

void Ending::on(const CancelDone& event) {
  Lease* lease = context_.leases.find(event.lease);
  if (lease == nullptr) return context_.ignore("a cancel of no lease");
  if (!transitions_.accept(*lease, News::kCancelDone)) return;
  lease->cancel_under_way = false;
  lease->history.add(context_.now(), event.outcome ? Cause{CauseCode::kCancelDone} : Cause{.code = CauseCode::kCancelFailed, .because = {cause_of(event.outcome.error())}});
  context_.polling.soon(event.outcome ? Duration{} : Duration(context_.times.poll_min));
}

// A worker that was asked to leave if idle, and cannot answer, may have read a task that came meanwhile. Its owner would run it
// elsewhere at once (`retries=`), and both runs would be under way.
void Ending::leave_no_longer(Lease& lease) {
  const RequestState* record = context_.sessions.request_of(lease);
  lease.may_run = record != nullptr ? record->request.running > 0 : context_.sessions.needed(lease);
  if (lease.may_run) return end_job(lease);
  cancel(lease);
}

// One that saves has longer, and then as long as any other.
TimePoint Ending::patience_until(const Lease& lease) const {
  const Defaults& times = context_.times;
  if (lease.saving()) return lease.since + std::max(times.leave, times.drain);
  return std::max(lease.since, lease.last_saving) + times.drain;
}

void Ending::settle(Lease& lease) {
  if (lease.state == LeaseState::kDraining) {
    if (context_.due(patience_until(lease)) && transitions_.accept(lease, News::kTimePassed)) leave_no_longer(lease);
    return;
  }
  if (lease.cancel_under_way || lease.job_ending || !lease.identified()) return;
  if (context_.due(lease.cancel_again) && transitions_.accept(lease, News::kTimePassed)) send_cancel(lease);
}

void Ending::finish(Lease& lease, Error why) {
  transitions_.enter(lease, LeaseState::kEnded, cause_of(why));
  detach(lease, why);
  if (lease.journalled) context_.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kEnded, cause_of(why)), why.code});
  for (const Owner& holder : context_.sessions.concerned(lease)) tell_end(lease, holder, why);
  lease.end = std::move(why);
  lease.workers.clear();
  lease.only_if_idle = false;
  context_.leases.ended(lease.id);
}

void Ending::detach(Lease& lease, const Error& why) {
  if (!lease.owner) return;
  tell_end(lease, Owner(*lease.owner), why);
  lease.owner.reset();
  lease.unclaimed_since = context_.now();
}

void Ending::tell_end(const Lease& lease, const Owner& to, const Error& why) {
  context_.act(TellLeaseEnded{to.session, to.request, lease.id, with_evidence(lease, why)});
  context_.sessions.holds_no_more(to, lease.id);
}

}  // namespace pounce::lease
