#include "pounced/leases/nodes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "messages/sentence.h"
#include "pounced/leases/status_document.h"

namespace pounce::daemon {
namespace {

// Whether `node` is a host name as Slurm and the DNS allow it. A worker must not be able to put a list of nodes, or
// anything else, into a request.
bool is_a_name(const std::string& node) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
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

std::vector<model::NodeRow> node_rows(const UtilisationLog& uses, const AvoidedNodes& avoided, TimePoint now) {
  std::map<std::string, model::NodeRow> nodes;
  for (const auto& [lease, use] : uses.live()) {
    std::set<std::string> here;
    for (const auto& [worker, report] : use.gpus) {
      model::NodeRow& node = nodes[report.node];
      if (here.insert(report.node).second) ++node.leases;
      node.gpus.insert(node.gpus.end(), report.gpus.begin(), report.gpus.end());
      node.gpu_direct_storage = report.gpu_direct_storage;
    }
  }
  for (const auto& [name, one] : avoided.at(now)) {
    nodes[name].avoided_until_s = unix_time_of(one.until);
    nodes[name].trouble = one.why;
  }
  std::vector<model::NodeRow> rows;
  for (auto& [name, node] : nodes) {
    node.node = name;
    rows.push_back(std::move(node));
  }
  return rows;
}

}  // namespace pounce::daemon
