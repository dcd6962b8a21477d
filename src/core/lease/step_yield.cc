#include "core/lease/step_yield.h"

#include <algorithm>
#include <utility>

namespace pounce::lease {

void StepYield::settle() {
  for (auto& [id, lease] : context_.leases) {
    if (!lease.stepping()) {
      lease.stepping_since.reset();
      lease.wanted_since.reset();
      lease.yield_told = false;
      continue;
    }
    if (!lease.stepping_since) lease.stepping_since = context_.now();
    context_.due(*lease.stepping_since + context_.times.step_min_run);
  }
}

bool StepYield::may_be_left(const Lease& lease) const {
  return lease.stepping() && lease.stepping_since && lease.job && !lease.yield_told &&
         context_.now() >= *lease.stepping_since + context_.times.step_min_run;
}

std::vector<Lease*> StepYield::leases() const {
  std::vector<Lease*> found;
  for (auto& [id, lease] : context_.leases)
    if (may_be_left(lease)) found.push_back(&lease);
  std::ranges::sort(found, {}, [](const Lease* lease) { return std::pair(*lease->stepping_since, lease->id); });
  return found;
}

// Often enough that nobody waits for twice that time.
Duration StepYield::look_every() const {
  const Defaults& times = context_.times;
  return std::clamp<Duration>(times.step_yield_after, times.warm_poll, std::max(times.warm_poll, times.poll_max));
}

void StepYield::look_shows(const std::vector<Lease*>& wanted) {
  for (Lease* lease : leases()) {
    if (std::ranges::find(wanted, lease) == wanted.end()) {
      lease->wanted_since.reset();
      continue;
    }
    if (!lease->wanted_since) lease->wanted_since = context_.now();
    if (context_.now() >= *lease->wanted_since + context_.times.step_yield_after) tell(*lease);
  }
}

void StepYield::tell(Lease& lease) {
  lease.yield_told = true;
  lease.history.add(context_.now(), CauseCode::kToBeYielded);
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) context_.act(YieldSteps{lease.id, worker.link});
}

}  // namespace pounce::lease
