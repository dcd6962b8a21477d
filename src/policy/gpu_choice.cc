#include <algorithm>
#include <limits>
#include <set>

#include "base/text.h"
#include "policy/placement_choice.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

std::uint64_t memory_of(const Policy& policy, const std::string& type) {
  const auto found = policy.gpu_memory_mib.find(type);
  return found == policy.gpu_memory_mib.end() ? std::numeric_limits<std::uint64_t>::max() : found->second;
}

// All types in the policy, smallest first: larger ones are left to requests that need them.
std::vector<std::string> described_types(const Policy& policy) {
  std::set<std::string> names;
  for (const auto& [type, memory] : policy.gpu_memory_mib) names.insert(type);
  for (const auto& [type, cuda] : policy.gpu_cuda) names.insert(type);
  std::vector<std::string> types(names.begin(), names.end());
  std::ranges::stable_sort(types, {}, [&](const std::string& type) { return memory_of(policy, type); });
  return types;
}

bool says_which(const Resources& resources) {
  return !resources.gpu_type.empty() || resources.gpu_memory_mib > 0 || resources.cuda > 0;
}

// On several nodes all ranks get one type, since they wait for the slowest. False if there are too few nodes, so that
// the error names that cause.
bool wants_one_type(const Resources& resources, const Nodes* nodes) {
  return resources.nodes > 1 && nodes != nullptr && gpu_types_of(*nodes).size() > 1 &&
         enough_can_hold(*nodes, resources, "");
}

// The cluster's types; first the one of which most nodes have enough.
std::vector<std::string> types_there(const Nodes& nodes, const Resources& resources) {
  auto types = gpu_types_of(nodes);
  const auto holders = [&](const std::string& type) {
    return std::ranges::count_if(nodes, [&](const NodeUse* node) { return can_hold(*node, resources, type); });
  };
  std::ranges::stable_sort(types, std::ranges::greater{}, holders);
  return types;
}

// Why the type is unsuitable; empty: it is suitable.
std::string shortcoming(const Policy& policy, const std::string& type, const Resources& resources) {
  if (resources.gpu_memory_mib > 0) {
    const auto memory = policy.gpu_memory_mib.find(type);
    if (memory == policy.gpu_memory_mib.end()) return "memory not known";
    if (memory->second < resources.gpu_memory_mib) return memory_text(memory->second);
  }
  if (resources.cuda > 0) {
    const auto cuda = policy.gpu_cuda.find(type);
    if (cuda == policy.gpu_cuda.end()) return "CUDA not known";
    if (cuda->second < resources.cuda) return "CUDA up to " + cuda_text(cuda->second);
  }
  return {};
}

std::string wanted(const Resources& resources) {
  std::string words = std::to_string(resources.all_gpus()) + (resources.all_gpus() == 1 ? " GPU" : " GPUs of one type");
  if (!resources.gpu_type.empty()) words += " of type " + resources.gpu_type;
  if (resources.gpu_memory_mib > 0) words += " with at least " + memory_text(resources.gpu_memory_mib);
  if (resources.cuda > 0) words += " for CUDA " + cuda_text(resources.cuda);
  return words;
}

struct Sorted {
  std::vector<std::string> fit;
  std::vector<std::string> others;  // "v100 (16GB), k80 (CUDA up to 11.4)"
};

Sorted sorted(const Policy& policy, const Resources& resources, const Nodes* nodes) {
  Sorted result;
  const bool named = !resources.gpu_type.empty();
  const auto there = nodes != nullptr ? gpu_types_of(*nodes) : std::vector<std::string>{};
  for (const std::string& type : named                   ? named_types(resources)
                                 : says_which(resources) ? described_types(policy)
                                                         : types_there(*nodes, resources)) {
    const bool exists = nodes == nullptr || std::ranges::count(there, type) > 0;
    std::string why = shortcoming(policy, type, resources);
    if (why.empty() && !exists) why = "not there";
    if (why.empty() && nodes != nullptr && !enough_can_hold(*nodes, resources, type))
      why = resources.nodes > 1 ? "not so much on so many nodes" : "not so much on one node";
    if (why.empty())
      result.fit.push_back(type);
    else if (named || exists)
      result.others.push_back(type + " (" + why + ")");
  }
  return result;
}

Error nothing_fits(const Policy& policy, const Resources& resources, const Nodes* nodes, const Sorted& sorted) {
  Error error{ErrorCode::kUnsatisfiable, "there can never be " + wanted(resources), {}, {}};
  if (!sorted.others.empty()) error.text += ": " + joined(sorted.others);
  if (resources.gpu_memory_mib > 0 && policy.gpu_memory_mib.empty()) {
    error.text += ": the site's policy does not tell the memory of its GPUs";
    error.remedy = "Name a GPU type instead: gpu_type=, or --gpu-type in a cell.";
  } else if (resources.cuda > 0 && policy.gpu_cuda.empty()) {
    error.text += ": the site's policy does not tell what CUDA its GPUs run";
    error.remedy = "Name a GPU type instead: gpu_type=, or --gpu-type in a cell.";
  } else if (nodes != nullptr) {
    tell_what_fits(error, resources, *nodes);
  }
  return error;
}

// Counts the GPUs that our own jobs wait for as taken.
bool some_are_left(const Nodes& nodes, const Resources& resources, const std::string& type, const GpuCounts& awaited) {
  const auto ours = awaited.find(type);
  const std::uint64_t earlier = ours == awaited.end() ? 0 : ours->second;
  return free_gpus(nodes, type) >= earlier + resources.all_gpus();
}

bool is_free(const Nodes& nodes, const Resources& resources, const std::string& type, const GpuCounts& awaited) {
  return enough_have_room(nodes, resources, type) && some_are_left(nodes, resources, type, awaited);
}

// The smallest type with enough memory that the cluster has for all workers, on any nodes.
std::string smallest_apart(const Policy& policy, const Resources& resources, const Nodes& nodes) {
  for (const std::string& type : described_types(policy))
    if (shortcoming(policy, type, resources).empty() &&
        workers_held(nodes, resources.apart(), type) >= resources.workers)
      return type;
  return {};
}

}  // namespace

std::vector<std::string> named_types(const Resources& resources) {
  std::vector<std::string> types;
  for (std::size_t start = 0; start < resources.gpu_type.size();) {
    const auto comma = std::min(resources.gpu_type.find(',', start), resources.gpu_type.size());
    if (comma > start) types.push_back(resources.gpu_type.substr(start, comma - start));
    start = comma + 1;
  }
  return types;
}

Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& resources, const Nodes* nodes,
                             const GpuCounts& awaited) {
  if (resources.gpus == 0 || !(says_which(resources) || wants_one_type(resources, nodes))) return GpuChoice{};
  const Sorted types = sorted(policy, resources, nodes);
  if (types.fit.empty()) return failure(nothing_fits(policy, resources, nodes, types));
  const std::string& first = types.fit.front();
  if (nodes == nullptr || is_free(*nodes, resources, first, awaited))
    return GpuChoice{first, "GPU type " + first + ": the first that will do"};
  for (const std::string& type : types.fit)
    if (is_free(*nodes, resources, type, awaited))
      return GpuChoice{type, "GPU type " + type + ": it is free, " + first + " is not"};
  // Prefers a type on nodes that take work to waiting for a drained node.
  for (const std::string& type : types.fit) {
    if (!enough_can_hold(that_take_work(*nodes), resources, type)) continue;
    if (type != first)
      return GpuChoice{type, "GPU type " + type + ": none is free now, and no node that takes work has " + first};
    break;
  }
  return GpuChoice{first, "GPU type " + first + ": none is free now, and it is the first that will do"};
}

std::string better_apart(const Policy& policy, const Resources& resources, const Nodes& nodes,
                         const std::string& together, const GpuCounts& awaited) {
  const bool many = resources.workers > 1 && resources.nodes == 1 && resources.gang == 0 && !resources.is_pool();
  if (!many || resources.gpus == 0 || resources.gpu_memory_mib == 0 || !resources.gpu_type.empty()) return {};
  const std::string small = smallest_apart(policy, resources, nodes);
  if (small.empty() || small == together || memory_of(policy, small) >= memory_of(policy, together)) return {};
  const std::string why = "as many " + small + ", which are smaller than " + together + ", are on several nodes";
  if (!enough_can_hold(nodes, resources, small)) return why;
  // One node can hold all workers, but not now: separate leases are better only if they need not wait.
  const bool room = workers_with_room(nodes, resources.apart(), small) >= resources.workers &&
                    some_are_left(nodes, resources, small, awaited);
  return room ? why + ", and free" : "";
}

}  // namespace pounce::policy
