// The nodes as a user reads them: this daemon's, with what their drivers told, and Slurm's other ones. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/gpu_row.h"
#include "pounce/cluster.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

// One of the document's, of Slurm's, or of both.
struct Node : model::NodeRow {
  bool in_slurm = false;
  NodeUse slurm{};
};

std::vector<Node> nodes_of(const std::vector<model::NodeRow>& told, const std::vector<NodeUse>& slurms);  // by name
std::string health_of(const Node& node);            // "ok", "GPU-1 failed", "avoided", "takes no work"; empty: not known
std::vector<Cells> node_cells(const std::vector<Node>& nodes, std::int64_t now_s);
std::vector<Cells> device_cells(const std::vector<Node>& nodes);  // a row for each GPU

}  // namespace pounce::ctl
