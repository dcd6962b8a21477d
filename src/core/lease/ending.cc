// The way out: draining (the worker was told), ending (Slurm was told, until it shows no job), ended. The owner hears
// of it once, as early as its tasks cannot be served any more.
#include <algorithm>

#include "core/lease/lease_core.h"

namespace pounce::lease {

void LeaseCore::give_back(Lease& lease, Error why, bool only_if_idle) {
  if (!lease.end || !only_if_idle) lease.end = std::move(why);
  switch (lease.state) {
    case LeaseState::kWanted:
      lease.owner.reset();
      return finish(lease, *lease.end);
    case LeaseState::kSubmitting:  // a job may exist: it is cancelled as soon as it is known
      lease.owner.reset();
      lease.unclaimed_since = now_;
      changed_ = true;
      return;
    case LeaseState::kQueued:
      return cancel(lease);
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
    case LeaseState::kDraining:
      return lease.linked() ? drain(lease, only_if_idle) : cancel(lease);
    case LeaseState::kEnding:
      return detach(lease, *lease.end);
    case LeaseState::kEnded:
      return;
  }
}

void LeaseCore::drain(Lease& lease, bool only_if_idle) {
  send_away(lease, lease.end->text, only_if_idle);
  lease.only_if_idle = only_if_idle;
  enter(lease, LeaseState::kDraining, lease.end->text);
  poll_soon(defaults_.poll_min);  // in case its farewell is lost
  if (!only_if_idle) detach(lease, *lease.end);
}

void LeaseCore::send_away(const Lease& lease, const std::string& why, bool only_if_idle) {
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) act(EndWorker{lease.id, worker.link, why, only_if_idle});
}

void LeaseCore::cancel(Lease& lease) {
  end_job(lease);
  detach(lease, *lease.end);
}

// Its worker is silent, its task may be running: the owner is told when the batch system shows that it ends.
void LeaseCore::give_up(Lease& lease) {
  const auto silence = std::chrono::duration_cast<std::chrono::seconds>(now_ - lease.heard).count();
  lease.end = Error{ErrorCode::kLost,
                    "Its worker" + (lease.facts.node.empty() ? "" : " on " + lease.facts.node) + " was not heard for " +
                        std::to_string(silence) + " s and its job was cancelled: its task may have executed.",
                    {},
                    {}};
  end_job(lease);
}

void LeaseCore::end_job(Lease& lease) {
  lease.only_if_idle = false;
  enter(lease, LeaseState::kEnding, lease.end->text);
  lease.cancel_wait = defaults_.poll_min;
  send_cancel(lease);
  poll_soon(defaults_.poll_min);
}

void LeaseCore::send_cancel(Lease& lease) {
  if (!lease.identified() || lease.cancel_under_way) return;
  lease.cancelled_by_us = lease.cancel_under_way = true;
  lease.cancel_again = now_ + lease.cancel_wait;
  lease.cancel_wait = std::clamp<Duration>(lease.cancel_wait * 2, defaults_.poll_min, defaults_.poll_max);
  ++counters_.cancels;
  act(CancelJob{lease.id, *lease.job});
}

void LeaseCore::send_excess(const Incarnation& job, const std::string& what) {
  ++counters_.cancels;
  sweeps_after_doubt_ = 2;  // until none is left
  last_ignored_ = "cancelled " + what;
  act(CancelJob{LeaseId{}, job});
}

void LeaseCore::on(const CancelDone& event) {
  Lease* lease = find(event.lease);
  if (lease == nullptr) return ignore("a cancel of no lease");
  if (!accept(*lease, News::kCancelDone)) return;
  lease->cancel_under_way = false;
  lease->story.add(now_, event.outcome ? "cancelled" : "cancel failed: " + event.outcome.error().text);
  poll_soon(event.outcome ? Duration{} : Duration(defaults_.poll_min));
}

void LeaseCore::finish(Lease& lease, Error why) {
  enter(lease, LeaseState::kEnded, why.text);
  detach(lease, why);
  if (lease.journalled) record(lease, JournalRecord::Kind::kEnded, why.text);
  lease.end = std::move(why);
  lease.workers.clear();
  lease.only_if_idle = false;
  ended_.push_back(lease.id);
}

void LeaseCore::detach(Lease& lease, const Error& why) {
  if (!lease.owner) return;
  Error told = why;
  told.context.try_emplace("lease", lease.id.hex());
  if (lease.job) told.context.try_emplace("job", std::to_string(lease.job->job.value));
  act(TellLeaseEnded{lease.owner->session, lease.owner->want, lease.id, std::move(told)});
  lease.owner.reset();
  lease.unclaimed_since = now_;
}

// A lease that never got an interpreter up says something about the request or the site: not for ever again.
void LeaseCore::count_bad_start(Lease& lease, const Error& why, bool give_up) {
  if (lease.ever_ready) return;
  WantBook* book = want_of(lease);
  if (book == nullptr) return;
  if (++book->bad_starts < defaults_.crash_limit && !give_up) return hold_off(*book, why.text);
  fail_want(*lease.owner, *book, why);
}

}  // namespace pounce::lease
