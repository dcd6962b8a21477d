// Nodes on which this instance requests no lease for a while, because a GPU failed there or a worker saw GPUs other
// than its lease's. The list is kept in memory only: the next process learns it again. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pounce/error.h"

namespace pounce::daemon {

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

}  // namespace pounce::daemon
