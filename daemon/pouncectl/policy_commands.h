// What the policy commands share. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"
#include "pounce/qos.h"
#include "pounce/result.h"
#include "pouncectl/policy_history.h"
#include "pouncectl/policy_report.h"

namespace pounce::ctl {

// One that somebody named, to look at.
Result<policy::Policy> read_policy_file(const std::string& path);
// One that is acted on: others than root and this user cannot have written it.
Result<policy::Policy> read_trusted_policy(const std::string& path);

// What others changed since, of the QoS that the policy names. Pure.
std::vector<policy::RuleChange> drift_of(const PolicyRecord& last, const std::vector<Qos>& now,
                                         const std::vector<Qos>& wanted);
// kBadRequest where Slurm would silently ignore a rule. Pure.
Result<PolicyReport> report_on(const policy::Policy& policy, const QosFacts& facts,
                               const std::vector<PolicyRecord>& records);

}  // namespace pounce::ctl
