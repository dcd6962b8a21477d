// Deadlines. After each event settle() looks at every one of them: what is due happens now, the nearest that is not
// becomes next_deadline(). So there is one list of deadlines, not one for asking and one for acting.
#include <algorithm>

#include "base/check.h"
#include "core/lease/lease_core.h"

namespace pounce::lease {
namespace {
constexpr int kMaxRounds = 64;
constexpr std::chrono::seconds kStopped{5};
constexpr std::size_t kEndedKept = 256;
}  // namespace

bool LeaseCore::due(TimePoint when) {
  if (when <= now_) return true;
  deadline_ = std::min(deadline_, when);
  return false;
}

void LeaseCore::settle() {
  for (int round = 0;; ++round) {
    POUNCE_CHECK(round < kMaxRounds, "the lease core does not come to rest");
    changed_ = false;
    deadline_ = TimePoint::max();
    settle_sessions();
    for (auto& [id, lease] : leases_) settle_lease(lease);
    settle_wants();
    settle_poll();
    settle_look();
    settle_sweep();
    settle_daemon();
    if (!changed_) break;
  }
  while (ended_.size() > kEndedKept) {
    leases_.erase(ended_.front());
    ended_.pop_front();
  }
}

// A deadline that comes so late means that this process was stopped: nobody could be heard meanwhile.
void LeaseCore::excuse_silence(Duration late) {
  if (late < kStopped) return;
  for (auto& [id, session] : sessions_) session.heard += late;
  for (auto& [id, lease] : leases_)
    if (!lease.workers.empty()) lease.heard += late;
}

void LeaseCore::settle_sessions() {
  std::vector<SessionId> silent;
  for (auto& [id, session] : sessions_) {
    if (session.awaited_until && due(*session.awaited_until)) {
      session.awaited_until.reset();
      changed_ = true;
    }
    if (!session.stays && due(session.heard + defaults_.orphan_grace)) silent.push_back(id);
  }
  for (const SessionId& id : silent) forget_session(id, "its session was not heard any more");
}

void LeaseCore::settle_lease(Lease& lease) {
  switch (lease.state) {
    case LeaseState::kWanted:
      return settle_wanted(lease);
    case LeaseState::kSubmitting:
    case LeaseState::kEnded:
      return;
    case LeaseState::kQueued:
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return settle_serving(lease);
    case LeaseState::kDraining:
      if (due(lease.since + defaults_.drain) && accept(lease, News::kTimePassed)) cancel(lease);
      return;
    case LeaseState::kEnding:
      if (lease.cancel_under_way || lease.job_ending || !lease.identified()) return;
      if (due(lease.cancel_again) && accept(lease, News::kTimePassed)) send_cancel(lease);
      return;
  }
}

void LeaseCore::settle_wanted(Lease& lease) {
  if (!needed(lease)) {
    accept(lease, News::kDemandGone);
    return give_back(lease, {ErrorCode::kLeaseEnded, "Nothing waits for it any more.", {}, {}});
  }
  if (!reconciled_ || unreachable_since_) return;
  const WantBook* book = want_of(lease);
  if (book != nullptr && !due(book->not_before)) return;
  const TimePoint start = next_start(lease);
  if (start > now_) return wait_for_start(lease, start);
  if (accept(lease, News::kTimePassed)) submit(lease);
}

void LeaseCore::settle_serving(Lease& lease) {
  if (lease.end) {  // decided while its submission was under way
    if (accept(lease, News::kOwnerGone)) give_back(lease, *lease.end);
    return;
  }
  note_silence(lease);
  if (worker_lost(lease)) {
    if (accept(lease, News::kTimePassed)) give_up(lease);
    return;
  }
  if (lease.owner && !needed(lease) && lease.state == LeaseState::kQueued) {
    accept(lease, News::kDemandGone);
    return give_back(lease, {ErrorCode::kLeaseEnded, "Nothing waits for it any more.", {}, {}});
  }
  if (const auto why = deadline_passed(lease)) {
    if (!accept(lease, News::kTimePassed)) return;
    if (lease.state == LeaseState::kStarting && needed(lease)) count_bad_start(lease, *why);
    give_back(lease, *why, lease.state == LeaseState::kIdle);
  }
}

// Where Slurm does not answer either, it is perhaps us who cannot be reached.
bool LeaseCore::worker_lost(const Lease& lease) {
  if (lease.workers.empty() || unreachable_since_) return false;
  return due(std::max(lease.heard, reached_since_) + defaults_.lost_after);
}

std::optional<Error> LeaseCore::deadline_passed(const Lease& lease) {
  const auto ended = [](const char* why) { return Error{ErrorCode::kLeaseEnded, why, {}, {}}; };
  const bool idle = unneeded(lease);
  if (lease.state == LeaseState::kStarting && due(lease.since + defaults_.hello_deadline))
    return ended("The job runs, but no interpreter came up in time.");
  if (idle && lease.release_asked) return ended("Given back: a person asked for it, and nothing waited for it or ran on it.");
  if (idle && due(lease.last_busy + kept()))
    return ended("Given back: nothing waited for it or ran on it.");
  if (!lease.owner && !idle && due(lease.unclaimed_since + defaults_.orphan_grace))
    return ended("Nobody claimed it after a restart of pounced.");
  return std::nullopt;
}

void LeaseCore::note_silence(Lease& lease) {
  if (!lease.linked() || lease.silence_noted) return;
  if (!due(lease.heard + defaults_.worker_silence)) return;
  lease.silence_noted = true;
  lease.story.add(now_, lease.workers.size() > 1 ? "its workers are silent" : "worker is silent");
  poll_soon(Duration{});
}

void LeaseCore::settle_wants() {
  if (!journal_read_) return;
  for (auto& [session, book] : sessions_) {
    for (auto& [id, entry] : book.wants) {
      const Owner owner{session, id};
      if (entry.want.waiting > 0 && !entry.failed && lease_of(owner) == nullptr) want_lease(owner);
    }
  }
}

void LeaseCore::settle_poll() {
  if (poll_under_way_) return;
  PollJobs poll;
  for (const auto& [id, lease] : leases_)
    if (to_poll(lease)) poll.jobs.push_back(*lease.job);
  if (poll.jobs.empty()) {
    poll_at_ = TimePoint::max();
    return;
  }
  if (poll_at_ == TimePoint::max()) poll_soon(defaults_.poll_min);
  if (!due(poll_at_)) return;
  poll_under_way_ = true;
  ++counters_.polls;
  act(std::move(poll));
}

void LeaseCore::settle_sweep() {
  if (!journal_read_ || sweep_under_way_) return;
  const TimePoint when = sweep_time();
  if (when == TimePoint::max() || !due(when)) return;
  sweep_under_way_ = true;
  ++sweeps_begun_;
  ++counters_.sweeps;
  act(SweepJobs{});
}

TimePoint LeaseCore::sweep_time() const {
  const bool live = std::any_of(leases_.begin(), leases_.end(), [](const auto& entry) {
    return entry.second.state != LeaseState::kWanted && !entry.second.over();
  });
  if (!reconciled_) return swept_at_ + sweep_wait_;
  if (unreachable_since_) return swept_at_ + std::max<Duration>(sweep_wait_, defaults_.poll_min);
  if (doubt()) return swept_at_ + defaults_.poll_min;
  if (live || sweeps_after_doubt_ > 0) return swept_at_ + defaults_.sweep_interval;
  return TimePoint::max();
}

void LeaseCore::settle_daemon() {
  if (!journal_read_) return;
  const bool live = !sessions_.empty() ||
                    std::any_of(leases_.begin(), leases_.end(), [](const auto& entry) { return !entry.second.over(); });
  if (live) {
    idle_since_.reset();
    end_told_ = false;
    return;
  }
  if (!idle_since_) idle_since_ = now_;
  if (end_told_ || !due(*idle_since_ + defaults_.daemon_idle_exit)) return;
  end_told_ = true;
  act(EndDaemon{});
}

}  // namespace pounce::lease
