// Where the interpreter hears clients: over the network, and from its own user's processes on this machine. One set of
// messages and routes; who sends does not ask which it is. Thread: the leader token's holder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/local_server.h"
#include "transport/poll_set.h"
#include "transport/router_socket.h"

namespace pounce::worker {

class DataSockets {
 public:
  void open(std::unique_ptr<transport::RouterSocket> network, std::unique_ptr<transport::LocalServer> local);

  std::optional<transport::Received> receive();  // non-blocking
  transport::Sent send(const std::string& route, transport::Message& frames);  // may be on its way only after flush()
  void flush();
  void cut(const std::string& route);
  // Not where our memory is bounded: what we made counts as ours for as long as the notebook keeps it.
  bool passes_memory(const std::string& route) const;
  bool polled_for_room(const std::string& route) const { return transport::LocalServer::is_route(route); }
  const std::string& endpoint() const { return network_->endpoints().front(); }

  void add_to(transport::PollSet& polled);
  void admit_waiting(const transport::PollSet& polled);  // after polling: newcomers, and those to cut

 private:
  std::unique_ptr<transport::RouterSocket> network_;
  std::unique_ptr<transport::LocalServer> local_;  // null: this machine has none
  std::size_t connections_ = 0;
  bool local_first_ = false;
  bool network_empty_ = false;  // as it was asked since the last poll: each time costs two system calls
};

}  // namespace pounce::worker
