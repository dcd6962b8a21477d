// Turns supervisors' messages on the control channel into core events. A supervisor speaks for its own lease and
// index only. Thread: loop.
#pragma once

#include <string>

#include "launch/launcher.h"
#include "pounced/daemon_state.h"
#include "pounced/detached/detached_tasks.h"
#include "pounced/leases/core_driver.h"
#include "pounced/leases/lease_logs.h"
#include "pounced/net/control_channel.h"

namespace pounce::daemon {

class WorkerHandler {
 public:
  WorkerHandler(DaemonState& state, CoreDriver& driver, ControlChannel& control, DetachedTasks& detached,
                JobNotes& notes, launch::Launcher& launcher, Duration avoid_node)
      : state_(state),
        driver_(driver),
        control_(control),
        detached_(detached),
        notes_(notes),
        launcher_(launcher),
        avoid_node_(avoid_node) {}

  void hear(Peer& peer, const protocol::Header& header);
  void lost(const Peer& peer);  // its connection is gone

 private:
  void take(Peer& peer, const protocol::WorkerUp& message);
  void take(Peer& peer, const protocol::InterpreterUp& message);
  void take(Peer& peer, const protocol::InterpreterDown& message);
  void take(Peer& peer, const protocol::WorkerBeat& message);
  void take(Peer& peer, const protocol::WorkerGpus& message);
  void take(Peer& peer, const protocol::DetachedEnded& message);
  void take(Peer& peer, const protocol::Beat& message);
  bool speaks_for(Peer& peer, const LeaseId& lease, WorkerIndex worker);
  bool may_be_interpreter(Peer& peer, const std::string& endpoint, const std::string& key);
  void started(const LeaseId& lease, WorkerIndex worker, lease::WorkerLink link, Interpreter interpreter);
  void forget_the_gone();
  void avoid(const std::string& node, const Error& why);
  void refuse(Peer& peer, ErrorCode code, const std::string& text);

  DaemonState& state_;
  CoreDriver& driver_;
  ControlChannel& control_;
  DetachedTasks& detached_;
  JobNotes& notes_;
  launch::Launcher& launcher_;
  const Duration avoid_node_;
};

}  // namespace pounce::daemon
