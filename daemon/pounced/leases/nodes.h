// Nodes on which this instance asks for no lease for a while, and the status document's rows of nodes. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/worker_report.h"
#include "pounce/error.h"
#include "pounced/leases/lease_logs.h"

namespace pounce::daemon {

// A GPU failed there, or a worker saw others than its lease's. Forgotten with this process: the next one learns it
// again.
class AvoidedNodes {
 public:
  static constexpr std::size_t kMost = 256;

  // Ignores errors that are not the node's fault, and names that no node can have.
  void hear(const std::string& node, const Error& error, TimePoint until);

  struct Node {
    TimePoint until;
    std::string why;
  };
  std::map<std::string, Node> at(TimePoint now) const;
  std::vector<std::string> names(TimePoint now) const;

 private:
  std::map<std::string, Node> nodes_;
};

// Where this instance's workers are, with what their driver told, and which nodes are avoided. Pure.
// Sorted by name.
std::vector<model::NodeRow> node_rows(const UtilisationLog& uses, const AvoidedNodes& avoided, TimePoint now);

}  // namespace pounce::daemon
