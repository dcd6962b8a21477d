#include "job/request_bounds.h"

#include <string>

namespace pounce::job {
namespace {

std::string count(const auto& member) {
  if constexpr (requires { member.count(); })
    return std::to_string(member.count());
  else if constexpr (requires { std::to_string(member); })
    return std::to_string(member);
  else
    return {};  // no number: it has no bounds
}

Error out_of_bounds(const std::string& what, const std::string& said, const Bounds& bounds) {
  return {ErrorCode::kBadRequest,
          what + " cannot be " + said,
          "Ask for " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most) + ".",
          {},
          {}};
}

struct Sum {
  const char* what;
  std::uint64_t all, most;
};

}  // namespace

Result<void> check_bounds(const Resources& request) {
  Error wrong;
  for_each_field(request, [&wrong](const auto& field, const auto& member) {
    if (wrong.empty() && !is_within(field.bounds, member))
      wrong = out_of_bounds(std::string(field.name), count(member), field.bounds);
  });
  if (!wrong.empty()) return failure(wrong);
  if (request.workers % request.nodes != 0)
    return failure(ErrorCode::kBadRequest,
                   std::to_string(request.workers) + " workers on " + std::to_string(request.nodes) +
                       " nodes are not as many on each",
                   "Ask for a number of workers that the number of nodes divides.");
  for (const Sum& sum : {Sum{"GPUs", request.node_gpus(), kMostGpus}, Sum{"CPUs", request.node_cpus(), kMostCpus},
                         Sum{"MiB of memory", request.node_memory_mib(), kMostMemoryMib}})
    if (sum.all > sum.most)
      return failure(ErrorCode::kBadRequest,
                     std::to_string(request.workers_of_node()) + " workers would have " + std::to_string(sum.all) +
                         " " + sum.what + " of one node",
                     "Ask for at most " + std::to_string(sum.most) + " together.");
  return {};
}

}  // namespace pounce::job
