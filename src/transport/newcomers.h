// The connections of a server socket that have sent nothing yet. libzmq accepts connections as long as there are
// descriptors, and a task's descriptors are its own (gotcha Z3): over a bound the oldest are cut. So many untrusted
// peers use few descriptors, and a peer with a key still has time for its handshake. Thread: the socket's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/unique_fd.h"

namespace pounce::transport {

class Newcomers {
 public:
  explicit Newcomers(std::size_t most);

  void came(int descriptor) { waiting_.push_back(descriptor); }
  void went(int descriptor) { std::erase(waiting_, descriptor); }
  void spoke(int descriptor) { went(descriptor); }
  void cut_oldest(std::uint16_t own_port);
  void cut(int descriptor, std::uint16_t own_port);  // any one connection

 private:
  std::size_t most_;
  std::deque<int> waiting_;  // libzmq's descriptors, in the order of arrival
  UniqueFd nothing_, held_;  // opened beforehand: too late when no descriptor is left
};

}  // namespace pounce::transport
