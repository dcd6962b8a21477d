// Whether a request fits a cluster's nodes, now or ever. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::policy {

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

// Completes the error for a request that is too large: the remedy names what would fit, and kFitsApart in the context
// tells that its workers would fit as separate leases.
void tell_what_fits(Error& error, const Resources& resources, const Nodes& nodes);
std::vector<std::string> gpu_types_of(const Nodes& nodes);

}  // namespace pounce::policy
