// Nodes on which this instance asks for no lease for a while: a GPU failed there, or a worker saw others than its lease's. Forgotten
// with this process: the next one learns it again. Thread: loop.
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

  // Of an error that is no node's fault, and of what is no node's name, nothing comes.
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
