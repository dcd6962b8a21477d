// The supervisor's line to pounced (src/control), on its loop. Proofs are made beside it. When the line is lost, the
// daemon's successor is looked for, and the same daemon again, for as long as the job lives. Running work does not
// notice. Thread: loop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/curve_key.h"
#include "base/unique_fd.h"
#include "control/control_connection.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/zmq_context.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

// Makes HELLO proofs beside the loop: libmunge blocks on its socket for up to seconds. One request at a time; a newer
// one makes the older's answer void. Thread: loop; a short-lived helper per request, joined here.
class ProofMaker {
 public:
  using Make = std::function<Result<std::string>()>;
  using Done = std::function<void(Result<std::string>)>;

  explicit ProofMaker(transport::EventLoop& loop);
  ~ProofMaker();
  void start(Make make, Done done);

 private:
  void collect();

  transport::EventLoop& loop_;
  UniqueFd made_;
  transport::EventLoop::WatchId watch_;
  std::jthread helper_;
  Result<std::string> result_;  // written by the helper before it signals, read after
  Done done_;
};

// The daemon that comes after the one a worker knew. It is found by its endpoint file, and believed only when that file
// is reached by folders that no other user may write (base/trusted_path.h) and is sealed by this user: with a MUNGE
// credential of our own uid, or with the key that this supervisor has held since its start. The one place where a
// worker believes in a new daemon. Thread: any, one at a time; blocks on the file system and on munged.
class Successor {
 public:
  explicit Successor(const SupervisorOptions& options);

  // Returns the file's statement. An error says why the file is not trusted; the known daemon then stays the only
  // one.
  Result<std::string> find();

 private:
  Result<void> check_seal(std::string_view statement, std::string_view seal) const;

  const std::string endpoint_file_, munge_socket_;
  std::optional<SecretKey> key_;  // set where daemons prove themselves by a key file
  std::string believed_;  // the file when it was last verified, so that an unchanged file costs no call to munged
};

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
  TimePoint next_beat(TimePoint now) const { return connection_.next_beat(now); }

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
