#include "core/lease/reconciliation.h"

#include <algorithm>

namespace pounce::lease {

bool Reconciliation::read_journal() {
  if (journal_read_) return false;
  journal_read_ = true;
  answered_at_ = step_.now();
  return true;
}

void Reconciliation::doubt(std::uint32_t rounds) { after_doubt_ = std::max(after_doubt_, rounds); }

Lease& Reconciliation::take_on_trust(const LeaseId& id) {
  Lease lease;
  lease.id = id;
  lease.state = LeaseState::kSubmitting;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = step_.now();
  lease.doubt_from = begun_;
  lease.history.add(step_.now(), CauseCode::kFirstHeardOf);
  doubt();
  step_.change();
  return leases_.add(std::move(lease));
}

bool Reconciliation::answered(bool reached) {
  if (!under_way_) return false;
  under_way_ = false;
  answered_at_ = step_.now();
  if (!reached) {
    wait_ = std::clamp<Duration>(wait_ * 2, times_.poll_min, times_.poll_max);
    return true;
  }
  wait_ = {};
  done_once_ = true;
  if (after_doubt_ > 0 && !in_doubt()) --after_doubt_;
  return true;
}

void Reconciliation::settle() {
  if (!journal_read_ || under_way_) return;
  const TimePoint when = next();
  if (when == TimePoint::max() || !step_.due(when)) return;
  under_way_ = true;
  ++begun_;
  ++step_.count().reconciles;
  step_.act(ReconcileJobs{});
}

TimePoint Reconciliation::next() const {
  const bool live = std::ranges::any_of(leases_, [](const auto& entry) {
    return entry.second.state != LeaseState::kRequested && !entry.second.over();
  });
  if (!done_once_) return answered_at_ + wait_;
  if (slurm_.lost()) return answered_at_ + std::max<Duration>(wait_, times_.poll_min);
  if (in_doubt()) return answered_at_ + times_.poll_min;
  if (live || after_doubt_ > 0) return answered_at_ + times_.reconcile_interval;
  return TimePoint::max();
}

bool Reconciliation::in_doubt() const {
  return std::ranges::any_of(leases_, [](const auto& entry) {
    const Lease& lease = entry.second;
    if (lease.over() || lease.state == LeaseState::kRequested || lease.submit_under_way) return false;
    const bool unproven = lease.state == LeaseState::kSubmitting && (!lease.job || !lease.journalled);
    const bool unnamed = lease.state >= LeaseState::kDraining && !lease.identified();
    return unproven || unnamed || lease.absent > 0;
  });
}

}  // namespace pounce::lease
