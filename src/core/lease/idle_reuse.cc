#include "core/lease/idle_reuse.h"

#include <algorithm>
#include <iterator>

#include "core/lease/reclaim.h"

namespace pounce::lease {
namespace {

constexpr int kBlindAfter = 3;                        // failed looks in a row
constexpr int kSeldom = 50;                            // a look costs slurmctld at most what it takes: no more than 2 % of its time

// Also one that was told to leave its loop: its step may take a while.
bool leaves(const Lease& lease) {
  const bool goes = lease.state == LeaseState::kDraining || lease.state == LeaseState::kEnding || (lease.stepping() && lease.yield_told);
  return goes && lease.job;
}

}  // namespace

bool IdleReuse::unneeded(const Lease& lease) const {
  return lease.state == LeaseState::kIdle || (lease.state == LeaseState::kStarting && !context_.sessions.needed(lease));
}

Duration IdleReuse::kept() const {
  const Defaults& times = context_.times;
  return times.idle_release + (blind_ ? std::min(times.keep_warm, times.keep_warm_blind) : times.keep_warm);
}

// Who has heard nothing of its variables, or starts for one who changed her mind, is given the usual time.
Duration IdleReuse::yields_after(const Lease& lease) const {
  const Defaults& times = context_.times;
  const bool at_once = lease.state == LeaseState::kIdle && lease.saved() && !blind_;
  return at_once ? std::min(times.yield_after, times.idle_release) : times.idle_release;
}

bool IdleReuse::reusable(const Lease& lease) const {
  return unneeded(lease) && !lease.end && lease.job && context_.now() >= lease.last_busy + yields_after(lease);
}

std::vector<Lease*> IdleReuse::reusable_leases() const {
  std::vector<Lease*> found;
  for (auto& [id, lease] : context_.leases)
    if (reusable(lease)) found.push_back(&lease);
  std::ranges::sort(found, {}, [](const Lease* lease) { return std::pair(lease->last_busy, lease->id); });
  return found;
}

std::vector<SlurmJobId> IdleReuse::leaving() const {
  std::vector<SlurmJobId> jobs;
  for (const auto& [id, lease] : context_.leases)
    if (leaves(lease)) jobs.push_back(lease.job->job);
  return jobs;
}

void IdleReuse::settle() {
  for (const auto& [id, lease] : context_.leases)
    if (unneeded(lease)) context_.due(lease.last_busy + yields_after(lease));
  if (under_way_ || context_.slurm.lost()) return;
  auto may_go = reusable_leases();
  const auto in_steps = steps_.leases();
  if (may_go.empty() && in_steps.empty()) return;
  if (!context_.due(may_go.empty() ? std::max(at_, begun_ + steps_.look_every()) : at_)) return;
  may_go.insert(may_go.end(), in_steps.begin(), in_steps.end());
  TakeQueueSnapshot look;
  for (const Lease* lease : may_go) look.jobs.push_back(*lease->job);
  for (const auto& [id, lease] : context_.leases)
    if (leaves(lease)) look.jobs.push_back(*lease.job);
  under_way_ = true;
  begun_ = context_.now();
  ++context_.count().snapshots;
  context_.act(std::move(look));
}

std::vector<Lease*> IdleReuse::wanted_by_others(const QueueSnapshotTaken& event) {
  if (!under_way_) {
    context_.ignore("a look at the queue that nobody asked for");
    return {};
  }
  under_way_ = false;
  plan_next_look(event);
  if (!event.look || blind_) return {};
  std::vector<Lease*> may_go = reusable_leases();
  std::vector<Lease*> going = wanted(*event.look, may_go);
  QueueSnapshot others = *event.look;  // who goes on with another worker soon waits for that, and would make way for itself
  std::erase_if(others.waiting, [](const RoomAsked& asked) { return asked.own; });
  std::ranges::copy(steps_.leases(), std::back_inserter(may_go));
  steps_.look_shows(wanted(others, may_go));
  return going;
}

std::vector<Lease*> IdleReuse::wanted(const QueueSnapshot& look, const std::vector<Lease*>& may_go) const {
  std::vector<SlurmJobId> jobs;
  for (const Lease* lease : may_go) jobs.push_back(lease->job->job);
  std::vector<Lease*> going;
  for (const SlurmJobId job : to_reclaim(look, jobs, leaving()))
    std::ranges::copy_if(may_go, std::back_inserter(going), [job](const Lease* lease) { return lease->job->job == job; });
  return going;
}

void IdleReuse::plan_next_look(const QueueSnapshotTaken& event) {
  const Defaults& times = context_.times;
  const Duration least = times.warm_poll, most = std::max(2 * times.warm_poll, times.poll_max);
  const Duration took = context_.now() - begun_;
  wait_ = event.look ? std::clamp<Duration>(took * kSeldom, least, most) : std::clamp<Duration>(wait_ * 2, least * 2, most);
  failed_ = event.look ? 0 : failed_ + 1;
  blind_ = event.look ? event.look->hidden : blind_ || failed_ >= kBlindAfter;
  if (blind_) wait_ = std::max<Duration>(wait_, times.keep_warm_blind);
  at_ = begun_ + wait_;
  if (wait_ > least) at_ = std::max(at_, context_.now() + least);  // never at once after one that took as long
}

}  // namespace pounce::lease
