#include "pouncectl/policy_report.h"

#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/printable.h"
#include "pouncectl/columns.h"
#include "pouncectl/output.h"

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
  return text + "Where pounced reads this policy it refuses what is over walltime and gpus_per_user, and ends jobs at the walltime; the other rules nobody enforces.\n";
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
  if (!report.plan.left.empty()) text += "note: left as they are, not in the file: " + printable(joined(report.plan.left)) + "\n";
  if (report.plan.changes.empty()) return text + "Nothing to do: the QoS of cluster " + printable(report.cluster) + " are so.\n";
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

}  // namespace pounce::ctl
