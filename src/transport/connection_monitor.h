// Which connections of a server socket are there and which are gone. libzmq's monitor names a connection by its
// descriptor, and each message the descriptor that it came in on: so the route of a lost one is known. For this
// module's own files. Thread: the socket's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {

// The connections that have said nothing yet: they have no route, and their number can be bounded. libzmq takes every
// connection that there is a descriptor for, and a task's descriptors are its own (gotcha Z3): over a bound the oldest
// are cut. So a crowd of untrusted peers has few of them, and a peer that knows a key still has the time that a
// handshake takes.
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

class ConnectionMonitor {
 public:
  struct Wanted {
    bool losses = false;             // the owner calls lost_route()
    std::size_t most_newcomers = 0;  // 0: no bound
    bool anything() const { return losses || most_newcomers > 0; }
  };
  void watch(Context& context, zmq::socket_t& socket, Wanted wanted);  // once, before it is bound
  void came_in(const std::string& route, const zmq::message_t& message);
  std::optional<std::string> lost_route();                 // each one once
  void cut_newcomers(std::uint16_t port);                  // the oldest over the bound; port: the server's
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
