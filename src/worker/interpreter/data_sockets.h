// The interpreter's sockets to clients: over the network, and to processes of its own user on this machine. Both have
// the same messages and routes; a sender need not know which one it uses. A key pair of its own is made for them.
// Thread: the leader token's holder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "transport/event_loop.h"
#include "transport/local_channel.h"
#include "transport/router_socket.h"
#include "transport/zmq_context.h"

namespace pounce::worker {

class DataSockets {
 public:
  struct Where {  // facing: the daemon's host; it counts where no interface is named. Empty ports: any.
    std::string facing, interface, ports;
  };
  DataSockets();

  // `admits`: whether a key may finish its handshake over the network. Called in answer_handshakes(). Returns the
  // endpoint as it was to be bound, with the whole range of ports.
  Result<std::string> bind(const Where& where, std::function<bool(const PublicKey&)> admits);
  void abandon_after_fork() { context_.abandon_after_fork(); }

  std::optional<transport::Received> receive();                                // non-blocking
  transport::Sent send(const std::string& route, transport::Message& frames);  // may leave only at flush()
  void flush();
  void cut(const std::string& route);
  // False where our memory is limited: memory that we made counts as ours for as long as the notebook keeps it.
  bool passes_memory(const std::string& route) const;
  bool polled_for_room(const std::string& route) const { return transport::LocalServer::is_route(route); }
  const std::string& endpoint() const { return network_->endpoints().front(); }
  const PublicKey& key() const { return keys_.public_key; }

  void add_to(transport::PollSet& polled);
  void admit_waiting(const transport::PollSet& polled);  // after polling: admits newcomers and cuts those that must go
  void answer_handshakes() { context_.service_zap(); }

 private:
  const KeyPair keys_;
  transport::Context context_;
  std::unique_ptr<transport::RouterSocket> network_;
  std::unique_ptr<transport::LocalServer> local_;  // null: not available on this machine
  std::size_t connections_ = 0;
  bool local_first_ = false;
  bool network_empty_ = false;  // it was empty since the last poll; each check costs two system calls
};

}  // namespace pounce::worker
