// The way from the present QoS to a policy's: the changes, the obstacles, and what Slurm will not enforce. QoS that
// the policy does not name stay unchanged. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/qos.h"
#include "policy/policy.h"
#include "pounce/error.h"

namespace pounce::policy {

struct RuleChange {
  std::string qos, rule;  // the rule's key in the file; "new" for a QoS to be created
  std::string now, then;  // "none" without a limit

  bool operator==(const RuleChange&) const = default;
};

struct Plan {
  std::vector<RuleChange> changes;
  std::vector<Qos> write;  // the new state of all changed QoS, including those of `create`
  std::vector<std::string> create;
  std::vector<std::string> left;  // present, but not named by the policy
};

Plan plan(const std::vector<Qos>& now, const std::vector<Qos>& wanted);

// The first rule that Slurm would accept and silently ignore, with the fix.
std::optional<Error> obstacle(const QosFacts& facts, const std::vector<Qos>& wanted);
// "lion: walltime 24h, 4 running jobs per user": the rules that nothing enforces without slurmdbd.
std::vector<std::string> not_enforced(const std::vector<Qos>& wanted);
// The policy's partitions that Slurm does not have.
std::vector<std::string> missing_partitions(const QosFacts& facts, const Policy& policy);

}  // namespace pounce::policy
