#include "client/lease_cache.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pounce::client {
namespace {

// docs/states.md: in these states of a lease its job runs.
constexpr std::array<std::string_view, 4> kRunning = {"starting", "idle", "busy", "draining"};

}  // namespace

void LeaseCache::update(const protocol::LeaseStatus& status, std::int64_t now_ns) {
  status_[status.lease] = status;
  latest_[status.request] = status.lease;
  if (std::ranges::find(kRunning, status.state) != kRunning.end()) started_ns_.try_emplace(status.lease, now_ns);
}

void LeaseCache::forget(const LeaseId& lease) {
  status_.erase(lease);
  started_ns_.erase(lease);
  std::erase_if(latest_, [&](const auto& entry) { return entry.second == lease; });
}

std::optional<protocol::LeaseStatus> LeaseCache::of_request(RequestId request) const {
  const auto latest = latest_.find(request);
  return latest == latest_.end() ? std::nullopt : of_lease(latest->second);
}

std::optional<protocol::LeaseStatus> LeaseCache::of_lease(const LeaseId& lease) const {
  const auto found = status_.find(lease);
  return found == status_.end() ? std::nullopt : std::optional(found->second);
}

Error LeaseCache::with_job(Error error) const {
  const auto named = error.context.find("lease");
  if (named == error.context.end()) return error;
  const auto status = of_lease(LeaseId::from_hex(named->second).value_or(LeaseId{}));
  if (status && status->job != 0) error.context.try_emplace("job", std::to_string(status->job));
  return error;
}

std::vector<protocol::LeaseStatus> LeaseCache::all() const {
  std::vector<protocol::LeaseStatus> all;
  for (const auto& [lease, status] : status_) all.push_back(status);
  return all;
}

std::int64_t LeaseCache::started_ns(const LeaseId& lease) const {
  const auto found = started_ns_.find(lease);
  return found == started_ns_.end() ? 0 : found->second;
}

}  // namespace pounce::client
