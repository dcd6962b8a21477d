#include "core/lease/polling.h"

#include <algorithm>

namespace pounce::lease {
namespace {
constexpr std::chrono::seconds kClosely{10};  // a batch system needs one or two to notice a dead process
constexpr int kCloser = 4;                    // than poll_min
}  // namespace

void Polling::soon(Duration wait) {
  wait_ = times_.poll_min;
  at_ = std::min(at_, step_.now() + wait);
  step_.change();
}

// A process that dies loses its connections first. Why it died is the batch system's word, which its owner waits for.
void Polling::closely() {
  closely_until_ = step_.now() + kClosely;
  soon(Duration{});
}

bool Polling::answered() {
  if (!under_way_) return false;
  under_way_ = false;
  step_.change();
  if (step_.now() < closely_until_) {
    at_ = step_.now() + Duration(times_.poll_min) / kCloser;
    return true;
  }
  at_ = step_.now() + wait_;
  wait_ = std::clamp<Duration>(wait_ * 2, times_.poll_min, times_.poll_max);
  return true;
}

void Polling::settle() {
  if (under_way_) return;
  PollJobs poll;
  for (const auto& [id, lease] : leases_)
    if (to_poll(lease)) add(lease, poll);
  if (poll.jobs.empty()) {
    at_ = TimePoint::max();
    return;
  }
  if (at_ == TimePoint::max()) soon(times_.poll_min);
  if (!step_.due(at_)) return;
  under_way_ = true;
  ++step_.count().polls;
  step_.act(std::move(poll));
}

void Polling::add(const Lease& lease, PollJobs& poll) {
  poll.jobs.push_back(*lease.job);
  if (lease.workers.empty() && !lease.cancelled_by_us) poll.unheard.push_back(lease.job->job);
}

bool Polling::to_poll(const Lease& lease) const {
  if (!lease.job || !lease.journalled || lease.over()) return false;
  if (lease.absent > 0) return true;
  const bool silent = !lease.linked() || step_.now() - lease.last_seen >= times_.worker_silence;
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

}  // namespace pounce::lease
