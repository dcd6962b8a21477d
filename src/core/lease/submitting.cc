// From a want to a job: the intent is on disk before the submission; whatever is not a clear yes or no is a doubt, and
// only sweeps resolve a doubt. One lease id is submitted once; a new try is a new lease.
#include <algorithm>
#include <tuple>

#include "core/lease/lease_core.h"
#include "core/lease/words.h"

namespace pounce::lease {
namespace {
constexpr std::chrono::hours kHour{1};
}

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
  if (WantBook* book = want_of(lease)) book->wait_reason.clear(), book->starts_at = {};
  act(RecordIntent{std::move(intent)});
  act(SubmitJob{lease.id, lease.resources, lease.owner->session});
  lease.journalled = lease.submit_under_way = true;
  ++counters_.submits;
  if (defaults_.starts_per_hour > 0) starts_.push_back(now_);
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
  const auto owner = lease->owner;
  WantBook* book = want_of(*lease);
  finish(*lease, event.error);  // told first: whoever hears of the want's failure finds no lease any more
  if (book != nullptr) fail_want(*owner, *book, event.error);
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

// Where a site caps the starts of an hour, those who have waited longest go first: the n-th in line starts when n starts
// are older than an hour, so each can be told when.
TimePoint LeaseCore::next_start(const Lease& lease) {
  const std::size_t cap = defaults_.starts_per_hour;
  if (cap == 0) return now_;
  std::erase_if(starts_, [this](TimePoint start) { return start + kHour <= now_; });
  const auto before = static_cast<std::size_t>(std::ranges::count_if(leases_, [&](const auto& entry) {
    const Lease& other = entry.second;
    const WantBook* book = want_of(other);
    const bool holds_off = book != nullptr && book->not_before > now_;  // for a reason of its own
    return other.state == LeaseState::kWanted && !holds_off && std::tie(other.born, other.id) < std::tie(lease.born, lease.id);
  }));
  const std::size_t free = cap - std::min(cap, starts_.size());
  if (before < free) return now_;
  return (before - free < starts_.size() ? starts_[before - free] : now_) + kHour;  // else behind one that starts now
}

void LeaseCore::wait_for_start(Lease& lease, TimePoint start) {
  due(start);
  WantBook* book = want_of(lease);
  const std::string reason = "this site lets one daemon ask for " + std::to_string(defaults_.starts_per_hour) +
                             " leases an hour, and so many were asked for";
  if (book == nullptr || (book->starts_at == start && book->wait_reason == reason)) return;
  book->starts_at = start;
  book->wait_reason = reason;
  tell(lease);
}

void LeaseCore::hold_off(WantBook& book, const std::string& reason) {
  const Duration least = defaults_.poll_min, most = defaults_.poll_max;
  book.backoff = std::clamp<Duration>(book.backoff * 2, least, most);
  book.not_before = now_ + book.backoff;
  book.wait_reason = "trying again soon: " + reason;
}

}  // namespace pounce::lease
