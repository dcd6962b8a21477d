// Which connections of a server socket are gone. libzmq's monitor names a lost connection by its descriptor, and each
// message the descriptor that it came in on: so the route is known. A connection that never said anything is nobody's.
// Of the module's own files only. Thread: the socket's.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "transport/zmq_parts.h"

namespace pounce::transport {

class ConnectionMonitor {
 public:
  void watch(Context& context, zmq::socket_t& socket);  // once, before it is bound
  void came_in(const std::string& route, const zmq::message_t& message);
  std::optional<std::string> lost_route();  // each once
  void* handle() { return monitor_.handle(); }

 private:
  void read_events();
  void lost(int descriptor);

  zmq::socket_t monitor_;
  std::map<int, std::string> routes_;  // by descriptor
  std::deque<std::string> lost_;
};

}  // namespace pounce::transport
