// What the policy commands share: reading a policy, the report on it, a request, a simulated site. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "model/qos.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "policy_simulator/simulated_day.h"
#include "pounce/error.h"
#include "pounce/resources.h"
#include "pouncectl/commands.h"
#include "pouncectl/policy/history.h"

namespace pounce::ctl {

// What `pouncectl policy plan` and its relatives say, as a table for people and as a document for programs. Pure.
// Thread: any.
struct PolicyReport {
  std::string cluster;
  bool has_database = true;
  policy::Plan plan;
  std::vector<policy::RuleChange> drift;  // others' changes since the last apply
  std::string last_apply;                 // "2026-01-31T12:00:00Z by root"
  std::vector<std::string> not_enforced, missing_partitions;
};

std::string report_text(const PolicyReport& report);
std::string report_json(const PolicyReport& report);

// Reading a policy file, and what it would change.

// Reads a policy that a user names, for reading only.
Result<policy::Policy> read_policy_file(const std::string& path);
// Reads a policy to act on: only root and this user can have written it.
Result<policy::Policy> read_trusted_policy(const std::string& path);

// Changes that others have made since to QoS of the policy. Pure.
std::vector<policy::RuleChange> drift_of(const PolicyRecord& last, const std::vector<Qos>& now,
                                         const std::vector<Qos>& wanted);
// kBadRequest if Slurm would silently ignore a rule. Pure.
Result<PolicyReport> report_on(const policy::Policy& policy, const QosFacts& facts,
                               const std::vector<PolicyRecord>& records);

// A request as a JSON object, in the words of Client.options. Pure. Thread: any.
// {"gpus": 1, "gpu_type": ["a100", "v100"], "gpu_memory": ">=20GB", "time": "20min"}. kBadRequest names the fault.
Result<Resources> request_from(const std::string& text);

// The simulated site of a policy. Pure. Thread: any.
// kBadRequest: the policy has no class to simulate.
Result<policy_simulator::Site> site_of(const policy::Policy& policy, const SimulateOptions& options);

}  // namespace pounce::ctl
