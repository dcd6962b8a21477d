// Turns clients' messages on the control channel into core events. A client speaks for its own session only.
// Thread: loop.
#pragma once

#include <functional>
#include <string>

#include "pounced/daemon_state.h"
#include "pounced/detached/detached_tasks.h"
#include "pounced/leases/core_driver.h"
#include "pounced/net/control_channel.h"

namespace pounce::daemon {

class ClientHandler {
 public:
  struct Answers {  // answers to questions that need more than the core
    std::function<void(const PublicKey& asker, std::uint32_t question)> queue;
    std::function<void(const PublicKey& asker, const protocol::ClassesAsk& question)> classes;
    std::function<std::string()> status;
  };

  ClientHandler(DaemonState& state, CoreDriver& driver, ControlChannel& control, DetachedTasks& detached,
                std::string notice, Answers answers)
      : state_(state),
        driver_(driver),
        control_(control),
        detached_(detached),
        notice_(std::move(notice)),
        answers_(std::move(answers)) {}

  void hear(Peer& peer, const protocol::Header& header, bool back);

  // Forgets clients that died without closing their session, once the core has given them up. Called periodically.
  void forget_the_gone();

 private:
  void take(Peer& peer, const protocol::OpenSession& message);
  void take(Peer& peer, const protocol::Demand& message);
  void take(Peer& peer, const protocol::CloseSession& message);
  void take(Peer& peer, const protocol::Beat& message);
  void take(Peer& peer, const protocol::QueueAsk& message);
  void take(Peer& peer, const protocol::ClassesAsk& message);
  void take(Peer& peer, const protocol::StatusAsk& message);
  void take(Peer& peer, const protocol::ReleaseAsk& message);
  void refuse(Peer& peer, ErrorCode code, const std::string& text);
  bool speaks_for(Peer& peer, const SessionId& session);

  DaemonState& state_;
  CoreDriver& driver_;
  ControlChannel& control_;
  DetachedTasks& detached_;
  const std::string notice_;
  const Answers answers_;
};

}  // namespace pounce::daemon
