// The connections of a server socket that have said nothing yet. libzmq takes every connection that there is a descriptor
// for, and a task's descriptors are its own (gotcha Z3): over a bound the oldest are cut. So a crowd of strangers has few of
// them, and whoever knows a key still has the time that a handshake takes. Thread: the socket's.
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
  void cut(int descriptor, std::uint16_t own_port);  // one connection, whether it spoke or not

 private:
  std::size_t most_;
  std::deque<int> waiting_;  // libzmq's, in the order in which they came
  UniqueFd nothing_, held_;  // had beforehand: when the last descriptor is gone it is too late to ask for one
};

}  // namespace pounce::transport
