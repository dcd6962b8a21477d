// The daemon put together: the core and everything around it. It builds and connects, and decides nothing. Members
// stand in the order in which they are made; they go in the reverse order. Thread: loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "launch/launcher.h"
#include "pounce/cluster.h"
#include "pounced/daemon_state.h"
#include "pounced/detached/detached_tasks.h"
#include "pounced/leases/action_executor.h"
#include "pounced/leases/core_driver.h"
#include "pounced/leases/job_builder.h"
#include "pounced/leases/site_policy.h"
#include "pounced/leases/wait_log.h"
#include "pounced/net/bounded_listener.h"
#include "pounced/net/client_handler.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/handshake_endpoint.h"
#include "pounced/net/proof_checker.h"
#include "pounced/net/worker_handler.h"
#include "pounced/startup/previous_instances.h"
#include "pounced/startup/setup.h"
#include "pounced/storage/journal.h"
#include "protocol/endpoint_file.h"
#include "transport/event_loop.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {

class Daemon {
 public:
  // facts: what the launcher told before.
  static Result<std::unique_ptr<Daemon>> open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                             launch::Launcher& launcher);
  ~Daemon();

  // Publishes the endpoint and starts the core: from here on clients and workers come.
  Result<void> start();

  // Somebody may have removed its journal. Only while the lock is ours.
  void look_after_journal();

 private:
  Daemon(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher);

  Result<void> open_sockets();
  Result<std::string> listen(const std::string& name, ListenerBounds bounds, const std::string& inside);
  std::vector<model::ListenerRow> listener_rows() const;
  Result<void> open_journal();
  Result<std::string> address() const;
  void choose_proof();
  void wire();
  void wire_core();
  DetachedSetup detached_setup() const;
  void answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question);
  void say_classes(const PublicKey& asker, const protocol::ClassesAsk& question, Result<ClusterSnapshot> cluster_snapshot);
  void answer_queue(const PublicKey& asker, std::uint32_t question);

  transport::EventLoop& loop_;
  const Setup& setup_;
  const ClusterFacts facts_;
  launch::Launcher& launcher_;

  DaemonState state_;
  SitePolicy policy_;
  const KeyPair keys_;
  protocol::EndpointFile endpoint_;
  std::vector<PreviousInstance> previous_instances_;
  std::vector<lease::JournalRecord> remembered_;  // until start() tells them
  std::unique_ptr<transport::Context> context_;
  transport::EventLoop::WatchId zap_watch_ = 0, proof_watch_ = 0;
  std::unique_ptr<ProofChecker> checker_;
  std::unique_ptr<ControlChannel> control_;
  std::unique_ptr<HandshakeEndpoint> handshake_;
  std::vector<std::unique_ptr<BoundedListener>> listeners_;
  std::optional<Journal> journal_;
  WaitLog waits_;
  std::unique_ptr<CoreDriver> driver_;
  std::unique_ptr<JobBuilder> jobs_;
  std::unique_ptr<ActionExecutor> executor_;
  std::unique_ptr<DetachedTasks> detached_;
  std::unique_ptr<ClientHandler> clients_;
  std::unique_ptr<WorkerHandler> workers_;
};

}  // namespace pounce::daemon
