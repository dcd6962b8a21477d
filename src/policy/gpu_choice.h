// The choice of one GPU type among the suitable ones. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "policy/awaited_gpus.h"
#include "policy/node_room.h"
#include "policy/policy.h"
#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::policy {

struct GpuChoice {
  std::string type;  // empty: any, or no GPU
  std::string why;   // empty: there was no choice
};

// Candidates are the named types in their order, or for memory or CUDA without a type the suitable ones, smallest
// first. Takes the first with room now, beside what our own jobs wait for; else the first on nodes that take work;
// else the first that the nodes have at all. On several nodes all get one type. nodes: null if the cluster was not
// queried.
Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& resources, const Nodes* nodes, const GpuCounts& awaited = {});

// Why separate leases are better than one lease on GPUs of type `together`; empty: they are not. Workers that request
// GPU memory prefer many GPUs to large ones, and as many smaller ones may be on several nodes.
std::string better_apart(const Policy& policy, const Resources& resources, const Nodes& nodes, const std::string& together,
                         const GpuCounts& awaited);

std::vector<std::string> named_types(const Resources& resources);  // splits "a100,v100"

}  // namespace pounce::policy
