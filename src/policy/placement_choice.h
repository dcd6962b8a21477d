// From what a user asks for to what Slurm is asked for: the class where none is named, one GPU type of several, nodes.
// Decided when a lease is submitted, for Slurm cannot be asked for "this type or that". Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "policy/awaited_gpus.h"
#include "policy/policy.h"
#include "pounce/cluster.h"
#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::policy {

// What is known when it is decided.
struct SchedulingContext {
  const ClusterSnapshot* cluster_snapshot = nullptr;      // of the cluster; null: not looked at, and everything is taken to be there
  bool has_qos = true;                 // false: this Slurm keeps no accounts, and a class is a name of ours alone
  std::vector<std::string> own_nodes{};  // on which this client holds leases
  GpuCounts awaited{};                 // by this user's jobs
  bool may_go_apart = false;           // who asks takes kFitsApart for an answer: workers that are better leases of their own get it
};

struct Choice {
  Resources resources;         // as asked, with a class, one GPU type at most, an account
  std::string qos, partition;  // empty: Slurm's own choice
  std::vector<std::string> why{};  // what was decided, in sentences without a full stop
  std::string apart{};             // not empty: its workers are better leases of their own, and why
};

// Whether more than the policy is needed to decide.
bool needs_cluster_snapshot(const Policy& policy, const Resources& asked);
// kUnsatisfiable: no waiting helps, and what would fit; with kFitsApart: or its workers are leases of their own.
// kBadRequest: an option that is not passed on, an unknown node.
Result<Choice> choose(const Policy& policy, const Resources& asked, const SchedulingContext& context);

// The classes to try where none is named: those of class_order; unset, all: the shortest walltime first, since it is let
// in first and gives back soonest; of equals the one that lets more jobs run; then by name.
std::vector<const Class*> in_order(const Policy& policy);

}  // namespace pounce::policy
