// Sweeps: every job that carries this instance's tag. They resolve doubts, adopt what the books do not know, cancel
// what is too much, and are the only proof of absence. Another instance's jobs are never touched.
#include <algorithm>
#include <set>

#include "core/lease/lease_core.h"

namespace pounce::lease {
namespace {

bool alive(const JobView& view) { return view.state == JobState::kQueued || view.state == JobState::kRunning; }

// A late submission can surface between two sweeps, but not after two that began later than the doubt, poll_min apart.
constexpr std::uint32_t kAbsentTwice = 2;

}  // namespace

void LeaseCore::on(const Swept& event) {
  if (!sweep_under_way_) return ignore("a sweep nobody asked for");
  sweep_under_way_ = false;
  swept_at_ = now_;
  reached(event.jobs.has_value(), event.jobs ? std::string() : event.jobs.error().text);
  if (!event.jobs) {
    sweep_wait_ = std::clamp<Duration>(sweep_wait_ * 2, defaults_.poll_min, defaults_.poll_max);
    return;
  }
  sweep_wait_ = {};
  reconciled_ = true;
  if (sweeps_after_doubt_ > 0 && !doubt()) --sweeps_after_doubt_;
  std::set<LeaseId> seen;
  for (const JobView& view : *event.jobs) {
    if (view.instance != instance_ || !view.lease) continue;
    seen.insert(*view.lease);
    sweep_found(view);
  }
  for (auto& [id, lease] : leases_)
    if (!lease.over() && lease.state != LeaseState::kWanted && !seen.contains(id)) sweep_missed(lease);
  offer_spares();
}

void LeaseCore::sweep_found(const JobView& view) {
  Lease* lease = find(*view.lease);
  const bool known = lease != nullptr && lease->journalled;
  const bool other = known && lease->job && lease->job->job != view.incarnation.job;
  if (known && (other || lease->over())) {
    if (alive(view)) send_excess(view.incarnation, "a job too many of lease " + lease->id.hex());
    return;
  }
  if (!known && (view.state == JobState::kEnded || view.state == JobState::kEnding)) return;
  job_seen(known ? *lease : adopt(view), view);
}

// A job with our tag that the books do not hold, or hold only on a worker's word: after a restart without a journal.
Lease& LeaseCore::adopt(const JobView& view) {
  Lease& lease = leases_.contains(*view.lease) ? leases_[*view.lease] : take_on_trust(*view.lease);
  lease.resources = view.resources;
  if (lease.resources.class_name.empty()) lease.resources.class_name = view.class_name;
  lease.last_busy = lease.unclaimed_since = now_;
  lease.journalled = true;
  lease.story.add(now_, "found by a sweep");
  record(lease, JournalRecord::Kind::kIntent);
  return lease;
}

void LeaseCore::sweep_missed(Lease& lease) {
  const bool vouched = lease.journalled && lease.linked() && now_ - lease.heard <= defaults_.worker_silence;
  if (lease.submit_under_way || sweeps_begun_ <= lease.doubt_from || vouched) return;
  if (!accept(lease, News::kAbsent)) return;
  ++lease.absent;
  changed_ = true;
  if (lease.absent < kAbsentTwice) {
    lease.story.add(now_, "a sweep does not show its job");
    return poll_soon(Duration{});
  }
  sweeps_after_doubt_ = std::max(sweeps_after_doubt_, 1u);
  send_away(lease, "Slurm does not know this job", false);
  if (!lease.job) lease.owner.reset();  // there never was a job: its want just tries again
  const std::string job = lease.job ? "job " + std::to_string(lease.job->job.value) : "a job of this lease";
  finish(lease, {ErrorCode::kLeaseEnded, "Slurm does not know " + job + " any more.", {}, {}});
}

bool LeaseCore::doubt() const {
  return std::any_of(leases_.begin(), leases_.end(), [](const auto& entry) {
    const Lease& lease = entry.second;
    if (lease.over() || lease.state == LeaseState::kWanted || lease.submit_under_way) return false;
    const bool unproven = lease.state == LeaseState::kSubmitting && (!lease.job || !lease.journalled);
    const bool unnamed = lease.state >= LeaseState::kDraining && !lease.identified();
    return unproven || unnamed || lease.absent > 0;
  });
}

}  // namespace pounce::lease
