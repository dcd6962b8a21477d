// The supervisor's line to pounced (src/control), on its loop. Proofs are made beside the loop. When the line is
// lost, the link looks for pounced's successor (successor.h) and repeats this for as long as the job lives. Running
// work does not notice. Thread: loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/curve_key.h"
#include "control/control_connection.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/zmq_context.h"
#include "worker/supervisor/proof_maker.h"
#include "worker/supervisor/successor.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

class DaemonLink {
 public:
  struct Callbacks {
    std::function<void()> connected;                       // the control channel is open: send WorkerUp
    std::function<void(const protocol::Header&)> message;  // beats too; the link has already answered them
  };

  DaemonLink(transport::EventLoop& loop, const SupervisorOptions& options, Callbacks callbacks);
  ~DaemonLink();

  void open();
  bool connected() const { return connection_.open(); }
  // A message is lost while there is no line; connected() sends again what matters.
  void send(const protocol::Header& header);
  std::chrono::milliseconds heartbeat() const { return connection_.heartbeat(); }

 private:
  void connect(control::DaemonAddress address);
  void service();
  void took_place(const control::Event& event);
  void try_later(const std::string& why);
  void try_again();
  void try_again_with(const Result<std::string>& statement);
  void wait_for_change();

  transport::EventLoop& loop_;
  const SupervisorOptions& options_;
  const Callbacks callbacks_;
  const KeyPair keys_;
  transport::Context context_;
  Successor successor_;  // used by the helper thread of proofs_, which is joined before this is destroyed
  ProofMaker proofs_;
  control::ControlConnection connection_;

  int failures_ = 0;
  std::uint32_t watched_ = 0;  // the connection_.socket() that is watched
  transport::EventLoop::WatchId messages_ = 0, links_ = 0, due_ = 0, retry_ = 0;
};

}  // namespace pounce::worker
