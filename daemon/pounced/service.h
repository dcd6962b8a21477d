// The part of the daemon behind authentication: the core and everything around it, from the frames of authenticated
// peers to the questions for the launcher. It has no socket, so a test can play its peers (tests/daemon_fuzzer). It
// only wires parts together and makes no decisions. Members are declared in the order of construction, so they are
// destroyed in reverse. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "launch/launcher.h"
#include "model/cluster.h"
#include "pounced/daemon_state.h"
#include "pounced/detached/detached_tasks.h"
#include "pounced/leases/action_executor.h"
#include "pounced/leases/core_driver.h"
#include "pounced/leases/job_builder.h"
#include "pounced/leases/lease_logs.h"
#include "pounced/leases/site_policy.h"
#include "pounced/net/client_handler.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/worker_handler.h"
#include "pounced/startup/instance.h"
#include "pounced/startup/setup.h"
#include "pounced/storage/journal.h"
#include "protocol/state_files.h"
#include "transport/event_loop.h"

namespace pounce::daemon {

class Service {
 public:
  // The parts that only the owner of the sockets can provide.
  struct Network {
    protocol::EndpointFile endpoint;  // by which workers find this daemon
    ControlChannel::SendFrame send;
    std::function<std::vector<model::ListenerRow>()> listeners;
  };

  // Takes over the journals. facts: the launcher's earlier answer.
  static Result<std::unique_ptr<Service>> open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                               launch::Launcher& launcher);

  void connect(Network network);  // frames may arrive afterwards
  void start();                   // starts the core with the journal's records

  // Rewrites a removed journal and forgets clients that died. Called periodically, only while the lock is ours.
  void look_after();

  ControlChannel& control() { return control_; }
  Peers& peers() { return state_.peers; }
  const SitePolicy& policy() const { return policy_; }
  const std::vector<PreviousInstance>& previous_instances() const { return previous_instances_; }
  const lease::LeaseCore& core() const { return driver_->core(); }
  const DaemonState& state() const { return state_; }

 private:
  Service(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher);

  Result<void> open_journal();
  void wire_core();
  void wire_handlers();
  DetachedSetup detached_setup() const;
  void answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question);
  void say_classes(const PublicKey& asker, const protocol::ClassesAsk& question,
                   Result<ClusterSnapshot> cluster_snapshot);
  void answer_queue(const PublicKey& asker, std::uint32_t question);

  transport::EventLoop& loop_;
  const Setup& setup_;
  const ClusterFacts facts_;
  launch::Launcher& launcher_;

  DaemonState state_;
  SitePolicy policy_;
  Network network_;
  ControlChannel control_{state_.peers};
  std::vector<PreviousInstance> previous_instances_;
  std::vector<lease::JournalRecord> remembered_;  // until start() passes them to the core
  std::optional<Journal> journal_;
  WaitLog waits_;
  std::unique_ptr<CoreDriver> driver_;
  std::unique_ptr<JobBuilder> jobs_;
  std::optional<JobNotes> notes_;
  std::unique_ptr<ActionExecutor> executor_;
  std::unique_ptr<DetachedTasks> detached_;
  std::optional<Walltimes> walltimes_;
  std::unique_ptr<ClientHandler> clients_;
  std::unique_ptr<WorkerHandler> workers_;
};

}  // namespace pounce::daemon
