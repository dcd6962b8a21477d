#include "pounced/leases/node_rows.h"

#include <map>
#include <set>
#include <utility>

#include "pounced/leases/unix_time.h"

namespace pounce::daemon {

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
