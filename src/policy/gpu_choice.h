// One GPU type of those that would do. Pure. Thread: any.
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
  std::string why;   // empty: there was nothing to choose
};

// Several named: in their order. None named, but memory or CUDA: the smallest that has it first. Taken is the first that
// has room now, beside what our own jobs wait for; else the first on nodes that take work, else the first that the nodes have at all.
// On several nodes all get one type. nodes: null where the cluster was not looked at.
Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& asked, const Nodes* nodes, const GpuCounts& awaited = {});

// Workers that ask for memory of their GPUs want many GPUs more than large ones: why they are better leases of their own than one on
// `together`, since as many smaller ones are on several nodes. Empty: they are not.
std::string better_apart(const Policy& policy, const Resources& asked, const Nodes& nodes, const std::string& together,
                         const GpuCounts& awaited);

std::vector<std::string> named_types(const Resources& asked);  // "a100,v100" taken apart

}  // namespace pounce::policy
