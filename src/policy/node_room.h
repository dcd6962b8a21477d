// Where a request has room in a cluster, now or ever. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::policy {

using Nodes = std::vector<const NodeUse*>;

// Those of the partition (empty: Slurm's default) that the request does not leave out.
Nodes nodes_for(const ClusterSnapshot& cluster_snapshot, const std::string& partition);

// type: empty is any one.
bool can_hold(const NodeUse& node, const Resources& asked, const std::string& type);       // ever
bool has_room(const NodeUse& node, const Resources& asked, const std::string& type);       // now
// As many nodes as it asks for.
bool enough_can_hold(const Nodes& nodes, const Resources& asked, const std::string& type);
bool enough_have_room(const Nodes& nodes, const Resources& asked, const std::string& type);

// How many such workers all of them together hold, as leases of their own.
std::uint64_t workers_held(const Nodes& nodes, const Resources& one, const std::string& type);       // ever
std::uint64_t workers_with_room(const Nodes& nodes, const Resources& one, const std::string& type);  // now

Nodes that_take_work(const Nodes& nodes);
std::uint64_t free_gpus(const Nodes& nodes, const std::string& type);  // on nodes that take work

// Where that is too much: the remedy, which says what would fit, and in the context whether its workers would one by one (kFitsApart).
void tell_what_fits(Error& error, const Resources& asked, const Nodes& nodes);
std::vector<std::string> gpu_types_of(const Nodes& nodes);

}  // namespace pounce::policy
