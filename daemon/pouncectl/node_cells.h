// Tables of nodes: this daemon's, with their drivers' reports, and Slurm's other nodes. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/gpu_row.h"
#include "pounce/cluster.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

// A node of the document, of Slurm, or of both.
struct Node : model::NodeRow {
  bool in_slurm = false;
  NodeUse slurm{};
};

std::vector<Node> nodes_of(const std::vector<model::NodeRow>& leased, const std::vector<NodeUse>& slurms);  // by name
std::string health_of(const Node& node);            // "ok", "GPU-1 failed", "avoided", "takes no work"; empty: unknown
std::vector<Cells> node_cells(const std::vector<Node>& nodes, std::int64_t now_s);
std::vector<Cells> device_cells(const std::vector<Node>& nodes);  // one row per GPU

}  // namespace pounce::ctl
