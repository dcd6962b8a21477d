// Tracks the open and lost connections of a server socket. libzmq's monitor names a connection by its descriptor, and
// each message names the descriptor that it came in on, so the route of a lost connection is known. A connection that
// never sent anything has no owner; their number can be bounded. Used by this module's own files only. Thread: the
// socket's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "transport/newcomers.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {

class ConnectionMonitor {
 public:
  struct Wanted {
    bool losses = false;            // the owner calls lost_route()
    std::size_t most_newcomers = 0;  // 0: no bound
    bool anything() const { return losses || most_newcomers > 0; }
  };
  void watch(Context& context, zmq::socket_t& socket, Wanted wanted);  // once, before it is bound
  void came_in(const std::string& route, const zmq::message_t& message);
  std::optional<std::string> lost_route();  // each one once
  void cut_newcomers(std::uint16_t port);   // the oldest over the bound; port: the server's
  void cut(const std::string& route, std::uint16_t port);  // only where newcomers are bounded
  void* handle() { return monitor_.handle(); }

 private:
  void read_events();
  void on_event(std::uint16_t event, int descriptor);
  void lost(int descriptor);

  Wanted wanted_;
  zmq::socket_t monitor_;
  std::map<int, std::string> routes_;  // by descriptor
  std::deque<std::string> lost_;
  std::optional<Newcomers> newcomers_;
};

}  // namespace pounce::transport
