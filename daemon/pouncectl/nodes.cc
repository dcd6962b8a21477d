// pouncectl nodes: the nodes of this daemon's leases with their drivers' reports of GPUs, avoided nodes, and Slurm's
// others.
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/node_cells.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

json as_json(const std::vector<Node>& nodes) {
  json document = {{"nodes", json::array()}};
  for (const Node& node : nodes) {
    json one = model::to_json<model::NodeRow>(node);
    one["health"] = health_of(node);
    one["slurm"] = node.in_slurm ? model::to_json(node.slurm) : json();
    document["nodes"].push_back(std::move(one));
  }
  return document;
}

// If Slurm does not answer, only the leases' nodes are listed.
std::vector<NodeUse> slurms_nodes(const model::StatusDocument& status) {
  if (status.launcher != "slurm") return {};
  auto snapshot = ask_slurm(slurm::AskClusterSnapshot{});
  if (snapshot) return std::move(snapshot->nodes);
  std::cerr << "Slurm's other nodes are not shown: " << snapshot.error().text << '\n';
  return {};
}

}  // namespace

int nodes(bool json_wanted) {
  const auto document = ask_status();
  if (!document) return report(document.error(), json_wanted);
  const auto status = model::parse<model::StatusDocument>(*document).value_or(model::StatusDocument{});
  const auto all = nodes_of(status.nodes, slurms_nodes(status));
  if (json_wanted) return print_json(as_json(all)), kOk;
  if (all.empty()) {
    std::cout << "no nodes: no lease here has a GPU whose driver tells of it, and none is avoided\n";
    return kOk;
  }
  std::cout << columns(node_cells(all, std::time(nullptr)));
  const auto devices = device_cells(all);
  if (devices.size() > 1) std::cout << '\n' << columns(devices);
  return kOk;
}

}  // namespace pounce::ctl
