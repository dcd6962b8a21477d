#include "core/lease/lease_table.h"

#include <algorithm>
#include <utility>

namespace pounce::lease {
namespace {
constexpr std::size_t kEndedKept = 256;
}

Lease* LeaseTable::find(const LeaseId& id) { return const_cast<Lease*>(std::as_const(*this).find(id)); }

const Lease* LeaseTable::find(const LeaseId& id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

Lease* LeaseTable::of(const Owner& owner) {
  for (auto& [id, lease] : leases_)
    if (lease.owner == owner) return &lease;
  return nullptr;
}

Lease* LeaseTable::of_job(const JobView& view) {
  for (auto& [id, lease] : leases_) {
    if (lease.over() || !lease.journalled || !lease.job || lease.job->job != view.job_identity.job) continue;
    if (view.lease && *view.lease != id) continue;
    // Without a tag in the view a recycled job id must not pass for ours.
    if (!view.lease && lease.job->submit_time_s != 0 && lease.job->submit_time_s != view.job_identity.submit_time_s)
      continue;
    return &lease;
  }
  return nullptr;
}

bool LeaseTable::any_live() const {
  return std::ranges::any_of(leases_, [](const auto& entry) { return !entry.second.over(); });
}

Lease& LeaseTable::add(Lease lease) {
  const LeaseId id = lease.id;
  return leases_.emplace(id, std::move(lease)).first->second;
}

void LeaseTable::forget_oldest() {
  while (ended_.size() > kEndedKept) {
    leases_.erase(ended_.front());
    ended_.pop_front();
  }
}

}  // namespace pounce::lease
