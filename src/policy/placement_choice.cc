#include "policy/placement_choice.h"

#include <algorithm>
#include <limits>

#include "base/join.h"
#include "policy/amounts.h"
#include "policy/gpu_choice.h"
#include "policy/node_room.h"
#include "policy/policy_keys.h"
#include "policy/slurm_options.h"

namespace pounce::policy {
namespace {

// A name that the policy does not have is a QoS: the file need not name all.
Class class_named(const Policy& policy, const std::string& name) {
  const auto found = std::ranges::find(policy.classes, name, &Class::name);
  if (found != policy.classes.end()) return *found;
  Class other;
  other.name = other.qos.name = name;
  return other;
}

bool open_to_us(const Class& one, const SchedulingContext& context) {
  return context.cluster_snapshot == nullptr || !context.has_qos ||
         std::ranges::count(context.cluster_snapshot->use.classes, one.qos.name, &ClassUse::name) > 0;
}

// What no waiting gives. Slurm says it too where it keeps accounts; here it also decides which class is taken.
Result<void> within_limits(const Class& one, const Resources& asked) {
  const Qos& qos = one.qos;
  if (qos.walltime && asked.time > *qos.walltime)
    return failure(ErrorCode::kUnsatisfiable, "class " + one.name + " gives at most " + duration_text(*qos.walltime),
                   "Ask for less time, or for a class that gives more.");
  if (qos.gpus_per_user && asked.all_gpus() > *qos.gpus_per_user)
    return failure(ErrorCode::kUnsatisfiable,
                   "class " + one.name + " gives one user " +
                       (*qos.gpus_per_user == 0 ? "no GPU" : "at most " + std::to_string(*qos.gpus_per_user) + " GPUs"),
                   "Ask for fewer GPUs, or for a class that gives more.");
  return {};
}

Result<void> known_nodes(const ClusterSnapshot& cluster_snapshot) {
  if (cluster_snapshot.nodes.empty()) return {};  // they are not shown: Slurm will tell
  for (const std::string& name : cluster_snapshot.not_nodes) {
    if (std::ranges::count(cluster_snapshot.nodes, name, &NodeUse::name) > 0) continue;
    std::vector<std::string> all;
    for (const NodeUse& node : cluster_snapshot.nodes) all.push_back(node.name);
    return failure(ErrorCode::kBadRequest, "not_nodes names " + name + ", which is no node of this cluster",
                   "The nearest that there is: " + nearest(name, all) + ".");
  }
  return {};
}

// On other nodes than our own leases where one has room now, or on one of theirs that has.
void place(Choice& choice, const Nodes& nodes, const SchedulingContext& context) {
  Resources& asked = choice.resources;
  const auto ours = [&](const NodeUse* node) { return std::ranges::count(context.own_nodes, node->name) > 0; };
  const auto fits = [&](const NodeUse* node) { return has_room(*node, asked, asked.gpu_type); };
  if (asked.placement == Placement::kSpread && !context.own_nodes.empty()) {
    if (std::ranges::none_of(nodes, [&](const NodeUse* node) { return !ours(node) && fits(node); }))
      return choice.why.push_back("no other node than " + joined(context.own_nodes) + " has room now: not spread");
    asked.not_nodes += (asked.not_nodes.empty() ? "" : ",") + joined(context.own_nodes, ",");
    choice.why.push_back("not on " + joined(context.own_nodes) + ", where other leases of this client are");
  }
  if (asked.placement == Placement::kPack && !asked.slurm.contains("nodelist")) {
    const auto found = std::ranges::find_if(nodes, [&](const NodeUse* node) { return ours(node) && fits(node); });
    if (found == nodes.end()) return;
    asked.slurm["nodelist"] = (*found)->name;
    choice.why.push_back("on " + (*found)->name + ", where another lease of this client is");
  }
}

Result<void> find_nodes(const Policy& policy, Choice& choice, const SchedulingContext& context) {
  Resources& asked = choice.resources;
  if (context.cluster_snapshot == nullptr) {
    const auto gpu = choose_gpu(policy, asked, nullptr);
    if (!gpu) return failure(gpu.error());
    asked.gpu_type = gpu->type;
    if (!gpu->why.empty()) choice.why.push_back(gpu->why);
    return {};
  }
  const Nodes nodes = nodes_for(*context.cluster_snapshot, choice.partition);
  const bool shown = !context.cluster_snapshot->nodes.empty();  // not where Slurm hides them (PrivateData=nodes)
  const auto gpu = choose_gpu(policy, asked, shown ? &nodes : nullptr, context.awaited);
  if (gpu && shown && context.may_go_apart) choice.apart = better_apart(policy, asked, nodes, gpu->type, context.awaited);
  if (!gpu) return failure(gpu.error());
  asked.gpu_type = gpu->type;
  if (!gpu->why.empty()) choice.why.push_back(gpu->why);
  if (shown && !enough_can_hold(nodes, asked, asked.gpu_type)) {
    Error error{ErrorCode::kUnsatisfiable, asked.nodes > 1 ? "no " + std::to_string(asked.nodes) + " nodes" : "no node", {}, {}};
    error.text += (choice.partition.empty() ? "" : " of partition " + choice.partition) + " can ever give this";
    tell_what_fits(error, asked, nodes);
    return failure(std::move(error));
  }
  place(choice, nodes, context);
  return {};
}

Result<Choice> in_class(const Policy& policy, const Class& one, const Resources& asked, const SchedulingContext& context) {
  if (const auto within = within_limits(one, asked); !within) return failure(within.error());
  Choice choice{asked, {}, one.partition, {}};
  choice.resources.class_name = one.name;
  if (context.has_qos) choice.qos = one.qos.name;
  if (choice.resources.account.empty()) choice.resources.account = one.account;
  if (!context.has_qos && asked.time.count() == 0 && one.qos.walltime) choice.resources.time = *one.qos.walltime;
  if (const auto found = find_nodes(policy, choice, context); !found) return failure(found.error());
  return choice;
}

Result<Choice> first_class(const Policy& policy, const Resources& asked, const SchedulingContext& context) {
  std::vector<std::string> passed;
  std::optional<Error> only;
  for (const Class* one : in_order(policy)) {
    if (!open_to_us(*one, context)) {
      passed.push_back(one->name + " is not open to you");
      continue;
    }
    auto choice = in_class(policy, *one, asked, context);
    if (choice) {
      passed.push_back("class " + one->name + ": none is named, and it is the first that gives this");
      choice->why.insert(choice->why.begin(), passed.begin(), passed.end());
      return choice;
    }
    only = choice.error();
    passed.push_back(choice.error().text);
  }
  // Where it is not for the classes, one sentence says all.
  if (only && std::ranges::count(passed, only->text) == static_cast<std::ptrdiff_t>(passed.size())) return failure(*only);
  return failure(ErrorCode::kUnsatisfiable, "no class gives this: " + joined(passed, "; "),
                 only ? only->remedy : "Ask the admin to open a class to you.");
}

}  // namespace

std::vector<const Class*> in_order(const Policy& policy) {
  std::vector<const Class*> order;
  for (const std::string& name : policy.class_order)
    order.push_back(&*std::ranges::find(policy.classes, name, &Class::name));
  if (!order.empty()) return order;
  for (const Class& one : policy.classes) order.push_back(&one);
  const auto time = [](const Class* one) { return one->qos.walltime.value_or(std::chrono::minutes::max()); };
  const auto jobs = [](const Class* one) {
    return one->qos.running_jobs_per_user.value_or(std::numeric_limits<std::uint32_t>::max());
  };
  std::ranges::stable_sort(order, [&](const Class* a, const Class* b) {
    return time(a) != time(b) ? time(a) < time(b) : jobs(a) > jobs(b);
  });
  return order;
}

bool needs_cluster_snapshot(const Policy& policy, const Resources& asked) {
  const bool open_class = asked.class_name.empty() && !policy.classes.empty();
  const bool open_type = asked.gpu_memory_mib > 0 || asked.cuda > 0 || asked.gpu_type.find(',') != std::string::npos ||
                         (asked.nodes > 1 && asked.gpus > 0 && asked.gpu_type.empty());
  return open_class || open_type || asked.placement != Placement::kAny || !asked.not_nodes.empty();
}

Result<Choice> choose(const Policy& policy, const Resources& asked, const SchedulingContext& context) {
  if (const auto fine = check_slurm_options(policy, asked.slurm); !fine) return failure(fine.error());
  if (context.cluster_snapshot != nullptr)
    if (const auto known = known_nodes(*context.cluster_snapshot); !known) return failure(known.error());
  const bool open = asked.class_name.empty() && !policy.classes.empty();
  auto choice = open ? first_class(policy, asked, context) : in_class(policy, class_named(policy, asked.class_name), asked, context);
  if (!choice || choice->apart.empty()) return choice;
  return failure(Error{ErrorCode::kUnsatisfiable, "its workers are better leases of their own: " + choice->apart,
                       "Ask for workers=\"0:" + std::to_string(asked.workers) + "\".", {{kFitsApart, "1"}}});
}

}  // namespace pounce::policy
