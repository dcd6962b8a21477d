// One GPU type of those that would do. Pure. Thread: any.
#pragma once

#include <string>

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
// has room now, else the first that the nodes have at all. On several nodes all get one type. nodes: null where the cluster was not looked at.
Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& asked, const Nodes* nodes);

std::vector<std::string> named_types(const Resources& asked);  // "a100,v100" taken apart

}  // namespace pounce::policy
