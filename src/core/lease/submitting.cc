// From a want to a job: the intent is on disk before the submission; whatever is not a clear yes or no is a doubt, and
// only sweeps resolve a doubt. One lease id is submitted once; a new try is a new lease.
#include <algorithm>

#include "core/lease/lease_core.h"
#include "core/lease/words.h"

namespace pounce::lease {

void LeaseCore::want_lease(const Owner& owner) {
  Lease lease;
  lease.id = fresh_lease_();
  lease.owner = owner;
  lease.resources = sessions_[owner.session].wants[owner.want].want.resources;
  lease.born = lease.since = lease.last_busy = now_;
  lease.story.add(now_, "wanted by session " + owner.session.hex());
  tell(leases_.emplace(lease.id, std::move(lease)).first->second);
  changed_ = true;
}

void LeaseCore::submit(Lease& lease) {
  JournalRecord intent;
  intent.lease = lease.id;
  intent.resources = lease.resources;
  intent.session = lease.owner->session;
  intent.want = lease.owner->want;
  act(RecordIntent{std::move(intent)});
  act(SubmitJob{lease.id, lease.resources, lease.owner->session});
  lease.journalled = lease.submit_under_way = true;
  ++counters_.submits;
  enter(lease, LeaseState::kSubmitting, "submitted");
}

void LeaseCore::on(const Submitted& event) {
  Lease* lease = find(event.lease);
  if (lease == nullptr || !lease->submit_under_way) return ignore("an answer to no submission under way");
  lease->submit_under_way = false;
  if (!accept(*lease, News::kSubmitted)) return;
  if (lease->over()) return send_excess(event.job, "the job of an ended lease");
  if (!event.note.empty()) lease->story.add(now_, event.note);
  if (!lease->job || (lease->job->job == event.job.job && lease->job->submit_time_s == 0)) {
    lease->job = event.job;
    record(*lease, JournalRecord::Kind::kSubmitted);
  }
  lease->doubt_from = sweeps_begun_;
  if (WantBook* book = want_of(*lease)) book->backoff = {};
  if (lease->state == LeaseState::kSubmitting)
    enter(*lease, LeaseState::kQueued, "Slurm job " + std::to_string(event.job.job.value));
  poll_soon(defaults_.poll_min);
}

void LeaseCore::on(const SubmitFailed& event) {
  Lease* lease = find(event.lease);
  if (lease == nullptr || !lease->submit_under_way) return ignore("an answer to no submission under way");
  lease->submit_under_way = false;
  if (!clear_refusal(event.error.code)) return submit_unclear(*lease, event.error);
  if (!accept(*lease, News::kSubmitRefused)) return;
  if (WantBook* book = want_of(*lease)) fail_want(*lease->owner, *book, event.error);
  lease->owner.reset();
  finish(*lease, event.error);
}

void LeaseCore::submit_unclear(Lease& lease, const Error& error) {
  if (!accept(lease, News::kSubmitUnclear)) return;
  lease.doubt_from = sweeps_begun_;
  lease.absent = 0;
  sweeps_after_doubt_ = 2;
  lease.story.add(now_, "outcome unknown: " + error.text);
  if (WantBook* book = want_of(lease)) hold_off(*book, error.text);
  tell(lease);
}

void LeaseCore::fail_want(const Owner& owner, WantBook& book, const Error& error) {
  book.failed = error;
  book.failed_waiting = book.want.waiting;
  book.failed_running = book.want.running;
  book.bad_starts = 0;
  act(TellWantFailed{owner.session, owner.want, error});
}

void LeaseCore::hold_off(WantBook& book, const std::string& reason) {
  const Duration least = defaults_.poll_min, most = defaults_.poll_max;
  book.backoff = std::clamp<Duration>(book.backoff * 2, least, most);
  book.not_before = now_ + book.backoff;
  book.wait_reason = "trying again soon: " + reason;
}

}  // namespace pounce::lease
