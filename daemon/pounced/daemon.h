// Assembles the daemon: the service and the sockets through which peers reach it. It only wires parts together and
// makes no decisions. Members are declared in the order of construction, so they are destroyed in reverse.
// Thread: loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "launch/launcher.h"
#include "model/cluster.h"
#include "pounced/net/bounded_listener.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/handshake.h"
#include "pounced/service.h"
#include "pounced/startup/setup.h"
#include "protocol/state_files.h"
#include "transport/event_loop.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

class Daemon {
 public:
  // facts: the launcher's earlier answer.
  static Result<std::unique_ptr<Daemon>> open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                              launch::Launcher& launcher);
  ~Daemon();

  // Publishes the endpoint and starts the core. From then on clients and workers connect.
  Result<void> start();

  lease::Defaults times() const;  // from the site's policy and the user's configuration as they are now

  // See Service::look_after().
  void look_after() { service_->look_after(); }

 private:
  Daemon(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts);

  Result<void> open_sockets();
  Result<std::string> listen(const std::string& name, ListenerBounds bounds, const std::string& inside);
  std::vector<model::ListenerRow> listener_rows() const;
  Result<std::string> address() const;
  void choose_proof();
  void describe();

  transport::EventLoop& loop_;
  const Setup& setup_;
  const ClusterFacts facts_;

  const KeyPair keys_;
  protocol::EndpointFile endpoint_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<transport::Context> context_;
  transport::EventLoop::WatchId zap_watch_ = 0, proof_watch_ = 0;
  std::unique_ptr<ProofChecker> checker_;
  std::unique_ptr<ControlSocket> control_;
  std::unique_ptr<HandshakeEndpoint> handshake_;
  std::vector<std::unique_ptr<BoundedListener>> listeners_;
};

}  // namespace pounce::daemon
