// pouncectl policy check, plan and export: a policy file's content, and what it would change. Writes nothing.
#include "pouncectl/policy_commands.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/bounded_file.h"
#include "base/join.h"
#include "base/trusted_path.h"
#include "policy/policy_file.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

std::vector<std::string> names_of(const policy::Policy& policy) {
  std::vector<std::string> names;
  for (const auto& one : policy.classes) names.push_back(one.name);
  return names;
}

Result<policy::Policy> policy_in(const std::string& path, const std::string& text) {
  auto policy = policy::parse_policy(text);
  if (policy) return policy;
  return failure(ErrorCode::kBadRequest, path + ": " + policy.error().text,
                 "Correct the file; docs/policy.md has the keys.");
}

}  // namespace

Result<policy::Policy> read_policy_file(const std::string& path) {
  const auto text = read_whole(path, policy::kMostPolicyBytes);
  if (text) return policy_in(path, *text);
  return failure(ErrorCode::kBadRequest, path + " cannot be read, or is longer than " + std::to_string(policy::kMostPolicyBytes) + " bytes",
                 "Name a policy file that is there.");
}

Result<policy::Policy> read_trusted_policy(const std::string& path) {
  const auto text = read_trusted_file(std::filesystem::absolute(path).string(), policy::kMostPolicyBytes);
  if (text) return policy_in(path, *text);
  return failure(ErrorCode::kBadRequest, text.error().text, text.error().remedy + ".");
}

std::vector<policy::RuleChange> drift_of(const PolicyRecord& last, const std::vector<Qos>& now,
                                         const std::vector<Qos>& wanted) {
  std::vector<policy::RuleChange> drift = policy::plan(last.after, now).changes;
  std::erase_if(drift, [&](const auto& change) {
    return std::ranges::find(wanted, change.qos, &Qos::name) == wanted.end();
  });
  return drift;
}

Result<PolicyReport> report_on(const policy::Policy& policy, const QosFacts& facts,
                               const std::vector<PolicyRecord>& records) {
  PolicyReport report;
  const auto wanted = policy::all_qos(policy);
  report.cluster = facts.cluster;
  report.has_database = facts.has_database;
  report.missing_partitions = policy::missing_partitions(facts, policy);
  if (!facts.has_database) {
    report.not_enforced = policy::not_enforced(wanted);
    return report;
  }
  if (const auto stands = policy::obstacle(facts, wanted)) return failure(*stands);
  report.plan = policy::plan(facts.qos, wanted);
  if (records.empty()) return report;
  report.drift = drift_of(records.back(), facts.qos, wanted);
  report.last_apply = records.back().when + " by " + records.back().who;
  return report;
}

int policy_check(const PolicyOptions& options, bool json) {
  const auto policy = read_policy_file(options.file);
  if (!policy) return report(policy.error(), json);
  const auto names = names_of(*policy);
  if (json) {
    print_json({{"classes", names}});
    return kOk;
  }
  print_line(options.file + " is a policy with " + std::to_string(names.size()) + (names.size() == 1 ? " class" : " classes") +
             (names.empty() ? "" : ": ") + joined(names));
  return kOk;
}

int policy_plan(const PolicyOptions& options, bool json) {
  const auto policy = read_policy_file(options.file);
  if (!policy) return report(policy.error(), json);
  const auto facts = ask_slurm(slurm::ReadQos{});
  if (!facts) return report(facts.error(), json);
  const auto records = PolicyHistory(options.state).read();
  if (!records) return report(records.error(), json);
  const auto found = report_on(*policy, *facts, *records);
  if (!found) return report(found.error(), json);
  std::cout << (json ? report_json(*found) : report_text(*found));
  if (!json && !found->plan.changes.empty()) std::cout << "Make it so: pouncectl policy apply " << options.file << '\n';
  return kOk;
}

int policy_export(bool json) {
  const auto facts = ask_slurm(slurm::ReadQos{});
  if (!facts) return report(facts.error(), json);
  if (!facts->has_database)
    return report({ErrorCode::kBadRequest, "this Slurm has no slurmdbd, so it has no QoS to write down",
                   "Write the policy by hand: docs/policy.md.", {}},
                  json);
  std::cout << policy::policy_text(facts->qos);
  return kOk;
}

}  // namespace pounce::ctl
