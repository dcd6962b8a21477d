// Helpers of the policy commands. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"
#include "pounce/qos.h"
#include "pounce/result.h"
#include "pouncectl/policy_history.h"
#include "pouncectl/policy_report.h"

namespace pounce::ctl {

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

}  // namespace pounce::ctl
