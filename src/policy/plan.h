// From the QoS that there are to those that a policy wants: what changes, what stands in the way, what Slurm will not
// do. QoS that the policy does not name are left as they are. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "pounce/error.h"
#include "pounce/qos.h"

namespace pounce::policy {

struct RuleChange {
  std::string qos, rule;  // the rule's key in the file; "new" for a QoS that is not there yet
  std::string now, then;  // "none" where there is no limit

  bool operator==(const RuleChange&) const = default;
};

struct Plan {
  std::vector<RuleChange> changes;
  std::vector<Qos> write;  // the QoS concerned, as they are to be; those of `create` among them
  std::vector<std::string> create;
  std::vector<std::string> left;  // there, and not named by the policy
};

Plan plan(const std::vector<Qos>& now, const std::vector<Qos>& wanted);

// What Slurm would take and then silently ignore: the first reason not to write, with the fix.
std::optional<Error> obstacle(const QosFacts& facts, const std::vector<Qos>& wanted);
// "lion: walltime 24h, 4 running jobs per user": what nobody enforces where there is no slurmdbd.
std::vector<std::string> not_enforced(const std::vector<Qos>& wanted);
// Partitions that the policy names and Slurm has not.
std::vector<std::string> missing_partitions(const QosFacts& facts, const Policy& policy);

}  // namespace pounce::policy
