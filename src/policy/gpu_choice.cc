#include "policy/gpu_choice.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/join.h"
#include "policy/amounts.h"

namespace pounce::policy {
namespace {

std::uint64_t memory_of(const Policy& policy, const std::string& type) {
  const auto found = policy.gpu_memory_mib.find(type);
  return found == policy.gpu_memory_mib.end() ? std::numeric_limits<std::uint64_t>::max() : found->second;
}

// All that the policy describes, the smallest first: what is larger is left to those who need it.
std::vector<std::string> described_types(const Policy& policy) {
  std::set<std::string> names;
  for (const auto& [type, memory] : policy.gpu_memory_mib) names.insert(type);
  for (const auto& [type, cuda] : policy.gpu_cuda) names.insert(type);
  std::vector<std::string> types(names.begin(), names.end());
  std::ranges::stable_sort(types, {}, [&](const std::string& type) { return memory_of(policy, type); });
  return types;
}

bool says_which(const Resources& asked) { return !asked.gpu_type.empty() || asked.gpu_memory_mib > 0 || asked.cuda > 0; }

// The ranks of one program wait for the slowest of them: on several nodes they get the same. Where there are not so many nodes, that
// is what is said.
bool wants_one_type(const Resources& asked, const Nodes* nodes) {
  return asked.nodes > 1 && nodes != nullptr && gpu_types_of(*nodes).size() > 1 && enough_can_hold(*nodes, asked, "");
}

// Of which most nodes have enough, first.
std::vector<std::string> types_there(const Nodes& nodes, const Resources& asked) {
  auto types = gpu_types_of(nodes);
  const auto holders = [&](const std::string& type) {
    return std::ranges::count_if(nodes, [&](const NodeUse* node) { return can_hold(*node, asked, type); });
  };
  std::ranges::stable_sort(types, std::ranges::greater{}, holders);
  return types;
}

// Why the type will not do; empty: it will.
std::string shortcoming(const Policy& policy, const std::string& type, const Resources& asked) {
  if (asked.gpu_memory_mib > 0) {
    const auto memory = policy.gpu_memory_mib.find(type);
    if (memory == policy.gpu_memory_mib.end()) return "memory not known";
    if (memory->second < asked.gpu_memory_mib) return memory_text(memory->second);
  }
  if (asked.cuda > 0) {
    const auto cuda = policy.gpu_cuda.find(type);
    if (cuda == policy.gpu_cuda.end()) return "CUDA not known";
    if (cuda->second < asked.cuda) return "CUDA up to " + cuda_text(cuda->second);
  }
  return {};
}

std::string wanted(const Resources& asked) {
  std::string words = std::to_string(asked.all_gpus()) + (asked.all_gpus() == 1 ? " GPU" : " GPUs of one type");
  if (!asked.gpu_type.empty()) words += " of type " + asked.gpu_type;
  if (asked.gpu_memory_mib > 0) words += " with at least " + memory_text(asked.gpu_memory_mib);
  if (asked.cuda > 0) words += " for CUDA " + cuda_text(asked.cuda);
  return words;
}

struct Sorted {
  std::vector<std::string> fit;
  std::vector<std::string> others;  // "v100 (16GB), k80 (CUDA up to 11.4)"
};

Sorted sorted(const Policy& policy, const Resources& asked, const Nodes* nodes) {
  Sorted result;
  const bool named = !asked.gpu_type.empty();
  const auto there = nodes != nullptr ? gpu_types_of(*nodes) : std::vector<std::string>{};
  for (const std::string& type : named ? named_types(asked) : says_which(asked) ? described_types(policy) : types_there(*nodes, asked)) {
    const bool exists = nodes == nullptr || std::ranges::count(there, type) > 0;
    std::string why = shortcoming(policy, type, asked);
    if (why.empty() && !exists) why = "not there";
    if (why.empty() && nodes != nullptr && !enough_can_hold(*nodes, asked, type)) why = asked.nodes > 1 ? "not so much on so many nodes" : "not so much on one node";
    if (why.empty())
      result.fit.push_back(type);
    else if (named || exists)
      result.others.push_back(type + " (" + why + ")");
  }
  return result;
}

Error nothing_fits(const Policy& policy, const Resources& asked, const Nodes* nodes, const Sorted& sorted) {
  Error error{ErrorCode::kUnsatisfiable, "there can never be " + wanted(asked), {}, {}};
  if (!sorted.others.empty()) error.text += ": " + joined(sorted.others);
  if (asked.gpu_memory_mib > 0 && policy.gpu_memory_mib.empty()) {
    error.text += ": the site's policy does not tell the memory of its GPUs";
    error.remedy = "Name a GPU type instead: gpu_type=, or --gpu-type in a cell.";
  } else if (asked.cuda > 0 && policy.gpu_cuda.empty()) {
    error.text += ": the site's policy does not tell what CUDA its GPUs run";
    error.remedy = "Name a GPU type instead: gpu_type=, or --gpu-type in a cell.";
  } else if (nodes != nullptr) {
    tell_what_fits(error, asked, *nodes);
  }
  return error;
}

// What our own jobs wait for is theirs.
bool some_are_left(const Nodes& nodes, const Resources& asked, const std::string& type, const GpuCounts& awaited) {
  const auto ours = awaited.find(type);
  const std::uint64_t earlier = ours == awaited.end() ? 0 : ours->second;
  return free_gpus(nodes, type) >= earlier + asked.all_gpus();
}

bool is_free(const Nodes& nodes, const Resources& asked, const std::string& type, const GpuCounts& awaited) {
  return enough_have_room(nodes, asked, type) && some_are_left(nodes, asked, type, awaited);
}

// The smallest with enough memory of which so many workers can have theirs, wherever they are.
std::string smallest_apart(const Policy& policy, const Resources& asked, const Nodes& nodes) {
  for (const std::string& type : described_types(policy))
    if (shortcoming(policy, type, asked).empty() && workers_held(nodes, asked.apart(), type) >= asked.workers) return type;
  return {};
}

}  // namespace

std::vector<std::string> named_types(const Resources& asked) {
  std::vector<std::string> types;
  for (std::size_t start = 0; start < asked.gpu_type.size();) {
    const auto comma = std::min(asked.gpu_type.find(',', start), asked.gpu_type.size());
    if (comma > start) types.push_back(asked.gpu_type.substr(start, comma - start));
    start = comma + 1;
  }
  return types;
}

Result<GpuChoice> choose_gpu(const Policy& policy, const Resources& asked, const Nodes* nodes, const GpuCounts& awaited) {
  if (asked.gpus == 0 || !(says_which(asked) || wants_one_type(asked, nodes))) return GpuChoice{};
  const Sorted types = sorted(policy, asked, nodes);
  if (types.fit.empty()) return failure(nothing_fits(policy, asked, nodes, types));
  const std::string& first = types.fit.front();
  if (nodes == nullptr || is_free(*nodes, asked, first, awaited))
    return GpuChoice{first, "GPU type " + first + ": the first that will do"};
  for (const std::string& type : types.fit)
    if (is_free(*nodes, asked, type, awaited)) return GpuChoice{type, "GPU type " + type + ": it is free, " + first + " is not"};
  // What a drained node has is waited for by nobody who can have another.
  for (const std::string& type : types.fit) {
    if (!enough_can_hold(that_take_work(*nodes), asked, type)) continue;
    if (type != first) return GpuChoice{type, "GPU type " + type + ": none is free now, and no node that takes work has " + first};
    break;
  }
  return GpuChoice{first, "GPU type " + first + ": none is free now, and it is the first that will do"};
}

std::string better_apart(const Policy& policy, const Resources& asked, const Nodes& nodes, const std::string& together,
                         const GpuCounts& awaited) {
  const bool many = asked.workers > 1 && asked.nodes == 1 && asked.gang == 0 && !asked.is_pool();
  if (!many || asked.gpus == 0 || asked.gpu_memory_mib == 0 || !asked.gpu_type.empty()) return {};
  const std::string small = smallest_apart(policy, asked, nodes);
  if (small.empty() || small == together || memory_of(policy, small) >= memory_of(policy, together)) return {};
  const std::string why = "as many " + small + ", which are smaller than " + together + ", are on several nodes";
  if (!enough_can_hold(nodes, asked, small)) return why;
  // A node has them, but not now: the others are worth it where they need not be waited for.
  const bool room = workers_with_room(nodes, asked.apart(), small) >= asked.workers && some_are_left(nodes, asked, small, awaited);
  return room ? why + ", and free" : "";
}

}  // namespace pounce::policy
