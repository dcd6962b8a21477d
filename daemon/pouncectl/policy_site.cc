#include "pouncectl/policy_site.h"

#include <algorithm>

namespace pounce::ctl {

Result<policy_simulator::Site> site_of(const policy::Policy& policy, const SimulateOptions& options) {
  if (policy.classes.empty())
    return failure(ErrorCode::kBadRequest, options.file + " has no classes to simulate", "Add classes: docs/policy.md has the keys.");
  policy_simulator::Site site;
  site.users = options.users;
  site.hours = std::chrono::hours(options.hours);
  site.seed = options.seed;
  site.nodes = options.nodes;
  site.gpus_per_node = options.gpus;
  site.idle_release = policy.leasing.idle_release.value_or(std::chrono::duration_cast<std::chrono::seconds>(site.idle_release));
  site.keep_warm = policy.leasing.keep_warm.value_or(std::chrono::duration_cast<std::chrono::seconds>(site.keep_warm));
  site.starts_per_hour = policy.leasing.starts_per_hour.value_or(0);
  for (const policy::Class& one : policy.classes) {
    policy_simulator::ClassRule rule{one.name, one.qos.walltime.value_or(std::chrono::minutes(24 * 60)), one.qos.running_jobs_per_user, {}, one.qos.priority};
    if (one.qos.gpus_per_user) rule.gpus_per_user = static_cast<std::uint32_t>(std::min<std::uint64_t>(*one.qos.gpus_per_user, 1'000'000));
    site.classes.push_back(std::move(rule));
  }
  return site;
}

}  // namespace pounce::ctl
