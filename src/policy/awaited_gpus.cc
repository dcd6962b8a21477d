#include "policy/awaited_gpus.h"

#include <set>

namespace pounce::policy {
namespace {

void add(GpuCounts& counts, const Resources& resources) {
  if (resources.gpus > 0 && !resources.gpu_type.empty()) counts[resources.gpu_type] += resources.all_gpus();
}

}  // namespace

GpuCounts awaited_gpus(const std::vector<JobView>& jobs, const std::map<LeaseId, Resources>& chosen) {
  GpuCounts counts;
  std::set<LeaseId> told;
  for (const JobView& job : jobs) {
    if (job.lease) told.insert(*job.lease);
    if (job.state == JobState::kQueued) add(counts, job.resources);
  }
  for (const auto& [lease, resources] : chosen)
    if (!told.contains(lease)) add(counts, resources);
  return counts;
}

}  // namespace pounce::policy
