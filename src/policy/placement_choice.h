// From the resources that a user requests to those requested from Slurm: where there is room, one GPU type of several,
// the class where none is named, nodes. Decided when a lease is submitted, for Slurm cannot be asked for "this type or
// that". Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "policy/policy.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::policy {

// Where a request has room in a cluster, now or ever.
using Nodes = std::vector<const NodeUse*>;

// The partition's nodes (empty: Slurm's default partition) without those that the request excludes.
Nodes nodes_for(const ClusterSnapshot& cluster_snapshot, const std::string& partition);

// type: empty means any.
bool can_hold(const NodeUse& node, const Resources& resources, const std::string& type);  // ever
bool has_room(const NodeUse& node, const Resources& resources, const std::string& type);  // now
// Whether as many nodes as requested can hold it, or have room.
bool enough_can_hold(const Nodes& nodes, const Resources& resources, const std::string& type);
bool enough_have_room(const Nodes& nodes, const Resources& resources, const std::string& type);

// The number of such workers that all nodes together hold, as separate leases.
std::uint64_t workers_held(const Nodes& nodes, const Resources& one, const std::string& type);       // ever
std::uint64_t workers_with_room(const Nodes& nodes, const Resources& one, const std::string& type);  // now

Nodes that_take_work(const Nodes& nodes);
std::uint64_t free_gpus(const Nodes& nodes, const std::string& type);  // on nodes that take work

// Completes the error for a request that is too large: the remedy names what would fit, and `fits_apart` tells whether
// its workers would fit as separate leases.
void tell_what_fits(Error& error, const Resources& resources, const Nodes& nodes);
std::vector<std::string> gpu_types_of(const Nodes& nodes);

// The GPUs that our own jobs wait for: free ones are theirs first, so the next request is told of what remains.
using GpuCounts = std::map<std::string, std::uint64_t>;  // by type; jobs that name no type are not counted

// `jobs`: this user's jobs in Slurm. `chosen`: the decisions for waiting leases; for a lease with a job in `jobs`,
// the job counts instead.
GpuCounts awaited_gpus(const std::vector<JobView>& jobs, const std::map<LeaseId, Resources>& chosen);

// One GPU type of those that would do.
struct GpuChoice {
  std::string type;  // empty: any, or no GPU
  std::string why;   // empty: there was no choice
};

// Candidates are the named types in their order, or for memory or CUDA without a type the suitable ones, smallest
// first. Takes the first with room now, beside what our own jobs wait for; else the first on nodes that take work;
// else the first that the nodes have at all. On several nodes all get one type. nodes: null if the cluster was not
// queried.
Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& resources, const Nodes* nodes,
                             const GpuCounts& awaited = {});

// Why separate leases are better than one lease on GPUs of type `together`; empty: they are not. Workers that request
// GPU memory prefer many GPUs to large ones, and as many smaller ones may be on several nodes.
std::string better_apart(const Policy& policy, const Resources& resources, const Nodes& nodes,
                         const std::string& together, const GpuCounts& awaited);

std::vector<std::string> named_types(const Resources& resources);  // splits "a100,v100"

// What is known at the decision.
struct SchedulingContext {
  const ClusterSnapshot* cluster_snapshot = nullptr;  // null: not queried, so everything counts as present
  bool has_qos = true;                   // false: Slurm keeps no accounts, and only the policy knows classes
  std::vector<std::string> own_nodes{};  // nodes of this client's leases
  GpuCounts awaited{};                   // by this user's jobs
  bool may_go_apart = false;             // the client accepts fits_apart if separate leases are better for its workers
};

struct Choice {
  Resources resources;             // the request, with a class, one GPU type at most, an account
  std::string qos, partition;      // empty: Slurm's own choice
  std::vector<std::string> why{};  // the decisions, in sentences without a full stop
  std::string apart{};             // why separate leases are better for its workers; empty: they are not
};

// Whether the decision needs more than the policy.
bool needs_cluster_snapshot(const Policy& policy, const Resources& resources);
// kUnsatisfiable: waiting does not help; tells what would fit; with fits_apart: separate leases for its workers
// would. kBadRequest: an option that is not passed on, an unknown node. kUnknownClass: an unknown class that Slurm
// would not refuse.
Result<Choice> choose(const Policy& policy, const Resources& resources, const SchedulingContext& context);

// The classes to try if none is named: those of class_order. If that is unset, all: the shortest walltime first,
// since it starts first and gives back soonest; then the one that lets more jobs run; then by name.
std::vector<const Class*> in_order(const Policy& policy);

}  // namespace pounce::policy
