// The supervisor's line to pounced: hello at the door with a proof, then the hall; when the line is lost, the endpoint
// file tells where the daemon (or its successor) is, and the same again, for as long as the job lives. Running work
// does not notice. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/curve_key.h"
#include "protocol/messages.h"
#include "transport/context.h"
#include "transport/dealer_socket.h"
#include "transport/event_loop.h"
#include "worker/proof_maker.h"
#include "worker/supervisor_options.h"

namespace pounce::worker {

class DaemonLink {
 public:
  struct Callbacks {
    std::function<void()> connected;                          // in the hall: say who you are
    std::function<void(const protocol::Header&)> message;     // from the daemon, in the hall
  };

  DaemonLink(transport::EventLoop& loop, const SupervisorOptions& options, Callbacks callbacks);
  ~DaemonLink();

  void open();
  bool connected() const { return stage_ == Stage::kHall; }
  // Lost while there is no line: what matters is said again in connected().
  void send(const protocol::Header& header);
  // Nothing was heard for too long: look for the daemon anew.
  void give_up(const std::string& why);
  std::chrono::milliseconds heartbeat() const { return heartbeat_; }

 private:
  enum class Stage { kAway, kProving, kDoor, kEntering, kHall };
  struct Line {  // a socket with its watches
    std::unique_ptr<transport::DealerSocket> socket;
    transport::EventLoop::WatchId messages = 0, links = 0;
  };

  void read_endpoint_file();
  void knock();
  void say_hello(Result<std::string> proof);
  bool connect(const std::string& endpoint, std::size_t max_frame_bytes);
  void hang_up();
  void on_messages();
  void on_links();
  void on_welcome(const protocol::Welcome& welcome);
  void post(const protocol::Header& header, std::string_view payload, bool with_payload);
  void flush();
  void set_timer(std::chrono::milliseconds after, std::function<void()> due);

  transport::EventLoop& loop_;
  const SupervisorOptions& options_;
  const Callbacks callbacks_;
  const KeyPair keys_;
  transport::Context context_;
  ProofMaker proofs_;

  Stage stage_ = Stage::kAway;
  std::string door_;
  PublicKey daemon_key_;
  protocol::Proof proof_kind_;
  std::string munge_socket_, key_file_;
  std::vector<std::string> halls_;
  std::chrono::milliseconds heartbeat_;
  int failures_ = 0;
  Line line_;
  std::vector<transport::Message> unsent_;
  transport::EventLoop::WatchId timer_ = 0, flush_timer_ = 0;
};

}  // namespace pounce::worker
