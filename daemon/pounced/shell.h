// The daemon put together: the core and everything around it. Builds and wires, decides nothing (design §4). Members
// stand in the order in which they are made; they go in the reverse order. Thread: loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "launch/launcher.h"
#include "pounce/cluster.h"
#include "pounced/books.h"
#include "pounced/client_desk.h"
#include "pounced/core_driver.h"
#include "pounced/door.h"
#include "pounced/hall.h"
#include "pounced/job_maker.h"
#include "pounced/journal.h"
#include "pounced/named_tasks.h"
#include "pounced/orders.h"
#include "pounced/predecessors.h"
#include "pounced/proof_checker.h"
#include "pounced/setup.h"
#include "pounced/site_policy.h"
#include "pounced/wait_log.h"
#include "pounced/worker_desk.h"
#include "protocol/endpoint_file.h"
#include "transport/context.h"
#include "transport/event_loop.h"

namespace pounce::daemon {

class Shell {
 public:
  // facts: what the launcher told before.
  static Result<std::unique_ptr<Shell>> open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                             launch::Launcher& launcher);
  ~Shell();

  // Publishes the endpoint and starts the core: from here on clients and workers come.
  Result<void> start();

 private:
  Shell(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher);

  Result<void> open_sockets();
  Result<void> open_journal();
  Result<std::string> address() const;
  void choose_proof();
  void wire();
  void wire_core();
  NamedSetup named_setup() const;
  void answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question);
  void say_classes(const PublicKey& asker, const protocol::ClassesAsk& question, Result<Survey> survey);
  void answer_queue(const PublicKey& asker, std::uint32_t request);

  transport::EventLoop& loop_;
  const Setup& setup_;
  const ClusterFacts facts_;
  launch::Launcher& launcher_;

  Books books_;
  SitePolicy policy_;
  const KeyPair keys_;
  protocol::EndpointFile endpoint_;
  std::vector<Predecessor> predecessors_;
  std::vector<lease::JournalRecord> remembered_;  // until start() tells them
  std::unique_ptr<transport::Context> context_;
  transport::EventLoop::WatchId zap_watch_ = 0, proof_watch_ = 0;
  std::unique_ptr<ProofChecker> checker_;
  std::unique_ptr<Hall> hall_;
  std::unique_ptr<Door> door_;
  std::optional<Journal> journal_;
  WaitLog waits_;
  std::unique_ptr<CoreDriver> driver_;
  std::unique_ptr<JobMaker> jobs_;
  std::unique_ptr<Orders> orders_;
  std::unique_ptr<NamedTasks> named_;
  std::unique_ptr<ClientDesk> clients_;
  std::unique_ptr<WorkerDesk> workers_;
};

}  // namespace pounce::daemon
