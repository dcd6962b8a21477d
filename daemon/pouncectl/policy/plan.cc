// pouncectl policy check, plan and export: what a policy file says, and what it would change. Nothing is written.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file_io.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "policy/policy.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/policy/policy_commands.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

std::string table(const std::vector<policy::RuleChange>& changes, const std::string& now, const std::string& then) {
  std::vector<Cells> rows = {{"QOS", "RULE", now, then}};
  for (const auto& change : changes) rows.push_back({change.qos, change.rule, change.now, change.then});
  return columns(rows);
}

std::string without_database(const PolicyReport& report) {
  std::string text = "This Slurm has no slurmdbd, so it has no QoS: there is nothing to change.\n";
  if (report.not_enforced.empty()) return text;
  text += "Slurm does not enforce here:\n";
  for (const std::string& line : report.not_enforced) text += "  " + printable(line) + "\n";
  return text +
         "Where pounced reads this policy it refuses what is over walltime and gpus_per_user, and ends jobs at the "
         "walltime; the other rules nobody enforces.\n";
}

json as_json(const std::vector<policy::RuleChange>& changes, const char* now, const char* then) {
  json list = json::array();
  for (const auto& change : changes)
    list.push_back({{"qos", change.qos}, {"rule", change.rule}, {now, change.now}, {then, change.then}});
  return list;
}

}  // namespace

std::string report_text(const PolicyReport& report) {
  std::string text;
  for (const std::string& name : report.missing_partitions)
    text += "note: this Slurm has no partition " + printable(name) + "\n";
  if (!report.has_database) return text + without_database(report);
  if (!report.drift.empty())
    text += "Changed by others since the last apply (" + printable(report.last_apply) + "):\n" +
            table(report.drift, "APPLIED", "NOW") + "\n";
  if (!report.plan.left.empty())
    text += "note: left as they are, not in the file: " + printable(joined(report.plan.left)) + "\n";
  if (report.plan.changes.empty())
    return text + "Nothing to do: the QoS of cluster " + printable(report.cluster) + " are so.\n";
  return text + table(report.plan.changes, "NOW", "THEN");
}

std::string report_json(const PolicyReport& report) {
  const json document = {{"cluster", report.cluster},
                         {"has_slurmdbd", report.has_database},
                         {"changes", as_json(report.plan.changes, "now", "then")},
                         {"create", report.plan.create},
                         {"left", report.plan.left},
                         {"drift", as_json(report.drift, "applied", "now")},
                         {"last_apply", report.last_apply},
                         {"not_enforced", report.not_enforced},
                         {"missing_partitions", report.missing_partitions}};
  return json_text(document, 2, true) + "\n";
}

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
  return failure(ErrorCode::kBadRequest,
                 path + " cannot be read, or is longer than " + std::to_string(policy::kMostPolicyBytes) + " bytes",
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
  std::erase_if(drift,
                [&](const auto& change) { return std::ranges::find(wanted, change.qos, &Qos::name) == wanted.end(); });
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
  print_line(options.file + " is a policy with " + std::to_string(names.size()) +
             (names.size() == 1 ? " class" : " classes") + (names.empty() ? "" : ": ") + joined(names));
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
    return report({ErrorCode::kBadRequest,
                   "this Slurm has no slurmdbd, so it has no QoS to write down",
                   "Write the policy by hand: docs/policy.md.",
                   {}},
                  json);
  std::cout << policy::policy_text(facts->qos);
  return kOk;
}

}  // namespace pounce::ctl
