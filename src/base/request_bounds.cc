#include "base/request_bounds.h"

#include <string>

namespace pounce {
namespace {

std::string count(const auto& member) {
  if constexpr (requires { member.count(); })
    return std::to_string(member.count());
  else if constexpr (requires { std::to_string(member); })
    return std::to_string(member);
  else
    return {};  // not a number, so it has no bounds
}

Error out_of_bounds(const std::string& what, const std::string& said, const Bounds& bounds) {
  return {ErrorCode::kBadRequest, what + " cannot be " + said,
          "Ask for " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most) + ".", {}, {}};
}

struct Sum {
  const char* what;
  std::uint64_t all, most;
};

}  // namespace

Result<void> check_bounds(const Resources& resources) {
  Error wrong;
  for_each_field(resources, [&wrong](const auto& field, const auto& member) {
    if (wrong.empty() && !is_within(field.bounds, member)) wrong = out_of_bounds(std::string(field.name), count(member), field.bounds);
  });
  if (!wrong.empty()) return failure(wrong);
  if (resources.workers % resources.nodes != 0)
    return failure(ErrorCode::kBadRequest, std::to_string(resources.workers) + " workers on " + std::to_string(resources.nodes) + " nodes are not as many on each",
                   "Ask for a number of workers that the number of nodes divides.");
  for (const Sum& sum : {Sum{"GPUs", resources.node_gpus(), kMostGpus}, Sum{"CPUs", resources.node_cpus(), kMostCpus},
                         Sum{"MiB of memory", resources.node_memory_mib(), kMostMemoryMib}})
    if (sum.all > sum.most)
      return failure(ErrorCode::kBadRequest,
                     std::to_string(resources.workers_of_node()) + " workers would have " + std::to_string(sum.all) + " " + sum.what + " of one node",
                     "Ask for at most " + std::to_string(sum.most) + " together.");
  return {};
}

}  // namespace pounce
