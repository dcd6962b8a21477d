#include "policy/placement_choice.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "policy/job_template.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

// A name that is not in the policy is a QoS, since the file need not list all.
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

// Refuses what waiting cannot give. Slurm does so too if it keeps accounts; here it also decides between classes.
Result<void> within_limits(const Class& one, const Resources& resources) {
  const Qos& qos = one.qos;
  if (qos.walltime && resources.time > *qos.walltime)
    return failure(ErrorCode::kUnsatisfiable, "class " + one.name + " gives at most " + duration_text(*qos.walltime),
                   "Ask for less time, or for a class that gives more.");
  if (qos.gpus_per_user && resources.all_gpus() > *qos.gpus_per_user)
    return failure(ErrorCode::kUnsatisfiable,
                   "class " + one.name + " gives one user " +
                       (*qos.gpus_per_user == 0 ? "no GPU" : "at most " + std::to_string(*qos.gpus_per_user) + " GPUs"),
                   "Ask for fewer GPUs, or for a class that gives more.");
  return {};
}

Result<void> known_nodes(const ClusterSnapshot& cluster_snapshot) {
  if (cluster_snapshot.nodes.empty()) return {};  // hidden nodes: Slurm decides
  for (const std::string& name : cluster_snapshot.not_nodes) {
    if (std::ranges::count(cluster_snapshot.nodes, name, &NodeUse::name) > 0) continue;
    std::vector<std::string> all;
    for (const NodeUse& node : cluster_snapshot.nodes) all.push_back(node.name);
    return failure(ErrorCode::kBadRequest, "not_nodes names " + name + ", which is no node of this cluster",
                   "The nearest that there is: " + nearest(name, all) + ".");
  }
  return {};
}

// kSpread: excludes our own leases' nodes if another node has room now. kPack: takes one of our nodes that has room.
void place(Choice& choice, const Nodes& nodes, const SchedulingContext& context) {
  Resources& resources = choice.resources;
  const auto ours = [&](const NodeUse* node) { return std::ranges::count(context.own_nodes, node->name) > 0; };
  const auto fits = [&](const NodeUse* node) { return has_room(*node, resources, resources.gpu_type); };
  if (resources.placement == Placement::kSpread && !context.own_nodes.empty()) {
    if (std::ranges::none_of(nodes, [&](const NodeUse* node) { return !ours(node) && fits(node); }))
      return choice.why.push_back("no other node than " + joined(context.own_nodes) + " has room now: not spread");
    resources.not_nodes += (resources.not_nodes.empty() ? "" : ",") + joined(context.own_nodes, ",");
    choice.why.push_back("not on " + joined(context.own_nodes) + ", where other leases of this client are");
  }
  if (resources.placement == Placement::kPack && !resources.slurm.contains("nodelist")) {
    const auto found = std::ranges::find_if(nodes, [&](const NodeUse* node) { return ours(node) && fits(node); });
    if (found == nodes.end()) return;
    resources.slurm["nodelist"] = (*found)->name;
    choice.why.push_back("on " + (*found)->name + ", where another lease of this client is");
  }
}

Result<void> find_nodes(const Policy& policy, Choice& choice, const SchedulingContext& context) {
  Resources& resources = choice.resources;
  if (context.cluster_snapshot == nullptr) {
    const auto gpu = choose_gpu(policy, resources, nullptr);
    if (!gpu) return failure(gpu.error());
    resources.gpu_type = gpu->type;
    if (!gpu->why.empty()) choice.why.push_back(gpu->why);
    return {};
  }
  const Nodes nodes = nodes_for(*context.cluster_snapshot, choice.partition);
  const bool shown = !context.cluster_snapshot->nodes.empty();  // false if Slurm hides nodes (PrivateData=nodes)
  const auto gpu = choose_gpu(policy, resources, shown ? &nodes : nullptr, context.awaited);
  if (gpu && shown && context.may_go_apart)
    choice.apart = better_apart(policy, resources, nodes, gpu->type, context.awaited);
  if (!gpu) return failure(gpu.error());
  resources.gpu_type = gpu->type;
  if (!gpu->why.empty()) choice.why.push_back(gpu->why);
  if (shown && !enough_can_hold(nodes, resources, resources.gpu_type)) {
    Error error{ErrorCode::kUnsatisfiable,
                resources.nodes > 1 ? "no " + std::to_string(resources.nodes) + " nodes" : "no node",
                {},
                {}};
    error.text += (choice.partition.empty() ? "" : " of partition " + choice.partition) + " can ever give this";
    tell_what_fits(error, resources, nodes);
    return failure(std::move(error));
  }
  place(choice, nodes, context);
  return {};
}

// A Slurm without accounts ignores any class, so a class that the policy lacks does not exist.
Result<void> is_somewhere(const Policy& policy, const std::string& name, const SchedulingContext& context) {
  if (context.has_qos || name.empty() || std::ranges::count(policy.classes, name, &Class::name) > 0) return {};
  const std::string text = "there is no class '" + name + "'; this Slurm has no slurmdbd, so no classes";
  if (policy.classes.empty()) return failure(ErrorCode::kUnknownClass, text, "Name none: leave class_ unset.");
  return failure(ErrorCode::kUnknownClass, text + " but the policy's: " + joined(policy.classes, ", ", &Class::name));
}

Result<Choice> in_class(const Policy& policy, const Class& one, const Resources& resources,
                        const SchedulingContext& context) {
  if (const auto within = within_limits(one, resources); !within) return failure(within.error());
  Choice choice{resources, {}, one.partition, {}};
  choice.resources.class_name = one.name;
  if (context.has_qos) choice.qos = one.qos.name;
  if (choice.resources.account.empty()) choice.resources.account = one.account;
  if (!context.has_qos && resources.time.count() == 0 && one.qos.walltime) choice.resources.time = *one.qos.walltime;
  if (const auto found = find_nodes(policy, choice, context); !found) return failure(found.error());
  return choice;
}

Result<Choice> first_class(const Policy& policy, const Resources& resources, const SchedulingContext& context) {
  std::vector<std::string> passed;
  std::optional<Error> only;
  for (const Class* one : in_order(policy)) {
    if (!open_to_us(*one, context)) {
      passed.push_back(one->name + " is not open to you");
      continue;
    }
    auto choice = in_class(policy, *one, resources, context);
    if (choice) {
      passed.push_back("class " + one->name + ": none is named, and it is the first that gives this");
      choice->why.insert(choice->why.begin(), passed.begin(), passed.end());
      return choice;
    }
    only = choice.error();
    passed.push_back(choice.error().text);
  }
  // If the class does not matter, all classes fail with the same error.
  if (only && std::ranges::count(passed, only->text) == static_cast<std::ptrdiff_t>(passed.size()))
    return failure(*only);
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

bool needs_cluster_snapshot(const Policy& policy, const Resources& resources) {
  const bool open_class = resources.class_name.empty() && !policy.classes.empty();
  const bool open_type = resources.gpu_memory_mib > 0 || resources.cuda > 0 ||
                         resources.gpu_type.find(',') != std::string::npos ||
                         (resources.nodes > 1 && resources.gpus > 0 && resources.gpu_type.empty());
  return open_class || open_type || resources.placement != Placement::kAny || !resources.not_nodes.empty();
}

Result<Choice> choose(const Policy& policy, const Resources& resources, const SchedulingContext& context) {
  if (const auto fine = check_slurm_options(policy, resources.slurm); !fine) return failure(fine.error());
  if (context.cluster_snapshot != nullptr)
    if (const auto known = known_nodes(*context.cluster_snapshot); !known) return failure(known.error());
  const bool open = resources.class_name.empty() && !policy.classes.empty();
  if (!open)
    if (const auto there = is_somewhere(policy, resources.class_name, context); !there) return failure(there.error());
  auto choice = open ? first_class(policy, resources, context)
                     : in_class(policy, class_named(policy, resources.class_name), resources, context);
  if (!choice || choice->apart.empty()) return choice;
  return failure(Error{.code = ErrorCode::kUnsatisfiable,
                       .text = "its workers are better leases of their own: " + choice->apart,
                       .remedy = "Ask for workers=\"0:" + std::to_string(resources.workers) + "\".",
                       .context = {},
                       .fits_apart = true});
}

}  // namespace pounce::policy
