// Revocable keep-warm: an idle lease is kept for the next call, and goes back as soon as the queue shows somebody who waits
// for what it holds. While there is a warm one the queue is looked at, never more than once an interval however many
// there are; where the jobs of others are hidden, warmth is short instead.
#include <algorithm>

#include "core/lease/lease_core.h"
#include "core/lease/yielding.h"

namespace pounce::lease {
namespace {
constexpr int kBlindAfter = 3;                        // failed looks in a row
constexpr std::chrono::milliseconds kSlowLook{500};  // one that takes longer is a burden: half as often
}

bool LeaseCore::unneeded(const Lease& lease) const {
  return lease.state == LeaseState::kIdle || (lease.state == LeaseState::kStarting && !needed(lease));
}

// How long an idle lease is kept in all.
Duration LeaseCore::kept() const {
  return defaults_.idle_release + (blind_ ? std::min(defaults_.keep_warm, defaults_.keep_warm_blind) : defaults_.keep_warm);
}

bool LeaseCore::warm(const Lease& lease) const {
  return unneeded(lease) && !lease.end && lease.job && now_ >= lease.last_busy + defaults_.idle_release;
}

// The longest idle first.
std::vector<Lease*> LeaseCore::warm_leases() {
  std::vector<Lease*> found;
  for (auto& [id, lease] : leases_)
    if (warm(lease)) found.push_back(&lease);
  std::ranges::sort(found, {}, [](const Lease* lease) { return std::pair(lease->last_busy, lease->id); });
  return found;
}

void LeaseCore::settle_look() {
  for (const auto& [id, lease] : leases_)
    if (unneeded(lease)) due(lease.last_busy + defaults_.idle_release);
  if (look_under_way_ || unreachable_since_) return;
  const auto warm = warm_leases();
  if (warm.empty() || !due(look_at_)) return;
  LookAtQueue look;
  for (const Lease* lease : warm) look.jobs.push_back(*lease->job);
  for (const auto& [id, lease] : leases_)
    if ((lease.state == LeaseState::kDraining || lease.state == LeaseState::kEnding) && lease.job) look.jobs.push_back(*lease.job);
  look_under_way_ = true;
  look_begun_ = now_;
  ++counters_.looks;
  act(std::move(look));
}

void LeaseCore::on(const QueueSeen& event) {
  if (!look_under_way_) return ignore("a look at the queue that nobody asked for");
  look_under_way_ = false;
  const bool burden = !event.look || now_ - look_begun_ > kSlowLook;
  const Duration least = defaults_.warm_poll, most = std::max(2 * defaults_.warm_poll, defaults_.poll_max);
  look_wait_ = burden ? std::clamp<Duration>(look_wait_ * 2, least * 2, most) : least;
  looks_failed_ = event.look ? 0 : looks_failed_ + 1;
  blind_ = event.look ? event.look->hidden : blind_ || looks_failed_ >= kBlindAfter;
  if (blind_) look_wait_ = std::max<Duration>(look_wait_, defaults_.keep_warm_blind);
  look_at_ = look_begun_ + look_wait_;
  if (burden) look_at_ = std::max(look_at_, now_ + least);  // never at once after one that took as long
  changed_ = true;
  if (!event.look || blind_) return;
  std::vector<SlurmJobId> warm, leaving;
  for (const Lease* lease : warm_leases()) warm.push_back(lease->job->job);
  for (const auto& [id, lease] : leases_)
    if ((lease.state == LeaseState::kDraining || lease.state == LeaseState::kEnding) && lease.job) leaving.push_back(lease.job->job);
  for (const SlurmJobId job : to_give_back(*event.look, warm, leaving)) yield(job);
}

void LeaseCore::yield(SlurmJobId job) {
  for (Lease* lease : warm_leases()) {
    if (lease->job->job != job || !accept(*lease, News::kSomebodyWaits)) continue;
    const std::map<std::string, std::string> context = {{"given_back", "somebody_waits"}, {"gpus", std::to_string(lease->resources.all_gpus())}};
    give_back(*lease, {ErrorCode::kLeaseEnded, "Given back: somebody waited for it.", {}, context}, true);
  }
}

}  // namespace pounce::lease
