#include "policy/plan.h"

#include <algorithm>

#include "base/text.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

struct Rule {
  std::string key, value;
};

// In the form of the file, so that plan's output can be copied into it.
std::vector<Rule> rules_of(const Qos& qos) {
  std::vector<Rule> rules;
  for_each_field(qos, [&](const auto& field, const auto& member) {
    if (field.name != "name") rules.push_back({std::string(key_of(field.name)), value_text(member)});
  });
  return rules;
}

const Qos* find(const std::vector<Qos>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Qos::name);
  return found == all.end() ? nullptr : &*found;
}

void add_changes(const Qos& now, const Qos& wanted, Plan& plan) {
  const auto before = rules_of(now), after = rules_of(wanted);
  for (std::size_t i = 0; i < after.size(); ++i)
    if (before[i].value != after[i].value)
      plan.changes.push_back({wanted.name, after[i].key, before[i].value, after[i].value});
}

// Limits are the optional fields.
bool limits(const Qos& qos) {
  bool any = false;
  for_each_field(qos, [&](const auto&, const auto& member) {
    if constexpr (requires { member.has_value(); }) any |= member.has_value();
  });
  return any;
}
bool limits_gpus(const Qos& qos) { return qos.gpus_per_user.has_value(); }
bool preempts(const Qos& qos) { return !qos.preempts.empty() || qos.grace.count() > 0; }

Error ignored(const std::string& what, const std::string& why, const std::string& fix) {
  return {ErrorCode::kBadRequest, "Slurm would ignore " + what + ": " + why, fix, {}};
}

}  // namespace

Plan plan(const std::vector<Qos>& now, const std::vector<Qos>& wanted) {
  Plan plan;
  for (const Qos& one : wanted) {
    const Qos* there = find(now, one.name);
    const std::size_t changes = plan.changes.size();
    if (there == nullptr) {
      plan.changes.push_back({one.name, "new", "none", "made"});
      plan.create.push_back(one.name);
    }
    add_changes(there != nullptr ? *there : Qos{}, one, plan);
    if (plan.changes.size() > changes) plan.write.push_back(one);
  }
  for (const Qos& one : now)
    if (find(wanted, one.name) == nullptr) plan.left.push_back(one.name);
  return plan;
}

std::optional<Error> obstacle(const QosFacts& facts, const std::vector<Qos>& wanted) {
  const auto any = [&](auto needs) { return std::ranges::any_of(wanted, needs); };
  if (any(limits) && !facts.enforces_limits)
    return ignored("the limits", "AccountingStorageEnforce has no \"limits\"",
                   "Set AccountingStorageEnforce=associations,limits,qos in slurm.conf and restart slurmctld.");
  if (!wanted.empty() && !facts.enforces_qos)
    return ignored("who may use which class", "AccountingStorageEnforce has no \"qos\"",
                   "Set AccountingStorageEnforce=associations,limits,qos in slurm.conf and restart slurmctld.");
  if (any(limits_gpus) && !facts.counts_gpus)
    return ignored("gpus_per_user", "AccountingStorageTRES has no gres/gpu",
                   "Set AccountingStorageTRES=gres/gpu in slurm.conf and restart slurmctld.");
  if (any(preempts) && !facts.preempts_by_qos)
    return ignored("preempts and grace", "PreemptType is not preempt/qos",
                   "Set PreemptType=preempt/qos and PreemptMode=REQUEUE in slurm.conf and restart slurmctld.");
  return std::nullopt;
}

std::vector<std::string> not_enforced(const std::vector<Qos>& wanted) {
  std::vector<std::string> lines;
  const auto free = rules_of(Qos{});
  for (const Qos& one : wanted) {
    std::vector<std::string> rules;
    const auto all = rules_of(one);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].value != free[i].value) rules.push_back(all[i].key + " " + all[i].value);
    if (!rules.empty()) lines.push_back(one.name + ": " + joined(rules));
  }
  return lines;
}

std::vector<std::string> missing_partitions(const QosFacts& facts, const Policy& policy) {
  std::vector<std::string> missing;
  for (const Class& one : policy.classes)
    if (!one.partition.empty() && std::ranges::find(facts.partitions, one.partition) == facts.partitions.end() &&
        std::ranges::find(missing, one.partition) == missing.end())
      missing.push_back(one.partition);
  return missing;
}

}  // namespace pounce::policy
