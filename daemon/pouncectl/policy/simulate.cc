// pouncectl policy simulate: a day under a policy, in virtual time, with the lease core that pounced runs.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "policy_simulator/simulated_day.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/policy/policy_commands.h"

namespace pounce::ctl {

Result<policy_simulator::Site> site_of(const policy::Policy& policy, const SimulateOptions& options) {
  if (policy.classes.empty())
    return failure(ErrorCode::kBadRequest, options.file + " has no classes to simulate",
                   "Add classes: docs/policy.md has the keys.");
  policy_simulator::Site site;
  site.users = options.users;
  site.hours = std::chrono::hours(options.hours);
  site.seed = options.seed;
  site.nodes = options.nodes;
  site.gpus_per_node = options.gpus;
  site.idle_release =
      policy.leasing.idle_release.value_or(std::chrono::duration_cast<std::chrono::seconds>(site.idle_release));
  site.keep_warm = policy.leasing.keep_warm.value_or(std::chrono::duration_cast<std::chrono::seconds>(site.keep_warm));
  site.starts_per_hour = policy.leasing.starts_per_hour.value_or(0);
  for (const policy::Class& one : policy.classes) {
    policy_simulator::ClassRule rule{one.name,
                                     one.qos.walltime.value_or(std::chrono::minutes(24 * 60)),
                                     one.qos.running_jobs_per_user,
                                     {},
                                     one.qos.priority};
    if (one.qos.gpus_per_user)
      rule.gpus_per_user = static_cast<std::uint32_t>(std::min<std::uint64_t>(*one.qos.gpus_per_user, 1'000'000));
    site.classes.push_back(std::move(rule));
  }
  return site;
}

namespace {

nlohmann::json json_of(const policy_simulator::ClassDay& one) {
  return {{"calls", one.calls},
          {"done", one.done},
          {"lost", one.lost},
          {"refused", one.refused},
          {"withdrawn", one.withdrawn},
          {"leases", one.leases},
          {"bound_by_jobs", one.bound_by_jobs},
          {"bound_by_gpus", one.bound_by_gpus},
          {"most_jobs", one.most_jobs},
          {"most_gpus", one.most_gpus},
          {"median_wait_s", one.median_wait.count()},
          {"wait_95_s", one.wait_95.count()}};
}

nlohmann::json json_of(const policy_simulator::Day& day) {
  nlohmann::json classes = nlohmann::json::object();
  for (const auto& [name, one] : day.classes) classes[name] = json_of(one);
  return {{"classes", classes},
          {"gpu_hours_leased", day.gpu_hours_leased},
          {"gpu_hours_busy", day.gpu_hours_busy},
          {"reclaimed_for_others", day.reclaimed_for_others},
          {"broken", day.broken}};
}

std::string time_words(std::chrono::seconds time) {
  const auto seconds = time.count();
  if (seconds < 120) return std::to_string(seconds) + " s";
  return seconds < 7200 ? std::to_string(seconds / 60) + " min" : std::to_string(seconds / 3600) + " h";
}

std::string text_of(const policy_simulator::Day& day) {
  std::vector<Cells> rows = {
      {"CLASS", "CALLS", "LEASES", "WAIT (MEDIAN)", "WAIT (95 %)", "BOUND BY JOBS", "BOUND BY GPUS", "LOST"}};
  for (const auto& [name, one] : day.classes)
    rows.push_back({name, std::to_string(one.calls), std::to_string(one.leases), time_words(one.median_wait),
                    time_words(one.wait_95), std::to_string(one.bound_by_jobs), std::to_string(one.bound_by_gpus),
                    std::to_string(one.lost)});
  char busy[160] = "GPUs: none was leased\n";
  if (day.gpu_hours_leased > 0)
    std::snprintf(
        busy, sizeof busy,
        "GPUs: busy %.0f %% of the %.0f h for which they were leased; %llu idle leases were given back for others\n",
        100 * day.gpu_hours_busy / day.gpu_hours_leased, day.gpu_hours_leased,
        static_cast<unsigned long long>(day.reclaimed_for_others));
  return columns(rows) + busy;
}

}  // namespace

int policy_simulate(const SimulateOptions& options, bool json) {
  const auto policy = read_policy_file(options.file);
  if (!policy) return report(policy.error(), json);
  const auto site = site_of(*policy, options);
  if (!site) return report(site.error(), json);
  const policy_simulator::Day day = policy_simulator::simulate(*site);
  if (json)
    print_json(json_of(day));
  else
    std::cout << text_of(day);
  for (const std::string& one : day.broken) std::cerr << "broken: " << printable(one) << '\n';
  return day.broken.empty() ? kOk : kFailed;
}

}  // namespace pounce::ctl
