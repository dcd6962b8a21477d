#include "pounced/leases/avoided_nodes.h"

#include <algorithm>

#include "messages/sentence.h"

namespace pounce::daemon {
namespace {

// Whether `node` is a host name as Slurm and the DNS allow it. A worker must not be able to put a list of nodes, or
// anything else, into a request.
bool is_a_name(const std::string& node) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'; };
  return !node.empty() && node.size() <= 255 && std::ranges::all_of(node, fits);
}

}  // namespace

void AvoidedNodes::hear(const std::string& node, const Error& error, TimePoint until) {
  if (error.code != ErrorCode::kDeviceFailed && error.code != ErrorCode::kDeviceUnavailable) return;
  if (!is_a_name(node) || (nodes_.size() >= kMost && !nodes_.contains(node))) return;
  nodes_[node] = {until, messages::text(error)};
}

std::map<std::string, AvoidedNodes::Node> AvoidedNodes::at(TimePoint now) const {
  std::map<std::string, Node> still = nodes_;
  std::erase_if(still, [now](const auto& entry) { return entry.second.until <= now; });
  return still;
}

std::vector<std::string> AvoidedNodes::names(TimePoint now) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : at(now)) names.push_back(name);
  return names;
}

}  // namespace pounce::daemon
