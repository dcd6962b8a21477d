// Turns a user's request into one for Slurm: a class if none is named, one GPU type of several, nodes. Decided when a
// lease is submitted, since Slurm has no request for "this type or that". Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "policy/awaited_gpus.h"
#include "policy/policy.h"
#include "pounce/cluster.h"
#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::policy {

// What is known at the decision.
struct SchedulingContext {
  const ClusterSnapshot* cluster_snapshot = nullptr;  // null: not queried, so everything counts as present
  bool has_qos = true;                 // false: Slurm keeps no accounts, and only the policy knows classes
  std::vector<std::string> own_nodes{};  // nodes of this client's leases
  GpuCounts awaited{};                 // by this user's jobs
  bool may_go_apart = false;           // the client accepts kFitsApart if separate leases are better for its workers
};

struct Choice {
  Resources resources;         // the request, with a class, one GPU type at most, an account
  std::string qos, partition;  // empty: Slurm's own choice
  std::vector<std::string> why{};  // the decisions, in sentences without a full stop
  std::string apart{};             // why separate leases are better for its workers; empty: they are not
};

// Whether the decision needs more than the policy.
bool needs_cluster_snapshot(const Policy& policy, const Resources& resources);
// kUnsatisfiable: waiting does not help; tells what would fit; with kFitsApart: separate leases for its workers
// would. kBadRequest: an option that is not passed on, an unknown node. kUnknownClass: an unknown class that Slurm
// would not refuse.
Result<Choice> choose(const Policy& policy, const Resources& resources, const SchedulingContext& context);

// The classes to try if none is named: those of class_order. If that is unset, all: the shortest walltime first,
// since it starts first and gives back soonest; then the one that lets more jobs run; then by name.
std::vector<const Class*> in_order(const Policy& policy);

}  // namespace pounce::policy
