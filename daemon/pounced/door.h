// The door: anybody may connect and say one HELLO; who proves to be this user enters the hall's list. It lives in the
// Reception's decisions and the ProofChecker's thread; this is the socket. libzmq cannot drop one peer, so the door is
// closed and opened again a while after somebody came: idle squatters go, nobody else is hurt (a HELLO is repeated).
// Thread: loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/ids.h"
#include "pounce/result.h"
#include "pounced/guests.h"
#include "pounced/proof_checker.h"
#include "pounced/reception.h"
#include "transport/context.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"

namespace pounce::daemon {

struct DoorPlan {
  std::vector<std::string> endpoints;       // to bind
  std::vector<std::string> hall_endpoints;  // as bound: ipc first
  InstanceId instance;
  std::uint32_t heartbeat_ms = 0;
  unsigned uid = 0;
};

class Door {
 public:
  static constexpr char kDomain[] = "door";
  static constexpr std::chrono::seconds kRecycle{60};  // after the first handshake since the last time
  static constexpr int kMostVisits = 512;              // handshakes; then it is recycled as soon as those are served
  static constexpr std::chrono::seconds kServe{1};

  static Result<std::unique_ptr<Door>> open(transport::EventLoop& loop, transport::Context& context,
                                            const KeyPair& keys, DoorPlan plan, Reception reception, Guests& guests,
                                            ProofChecker& checker);
  ~Door();

  const std::vector<std::string>& endpoints() const { return socket_->endpoints(); }

 private:
  Door(transport::EventLoop& loop, DoorPlan plan, Reception reception, Guests& guests, ProofChecker& checker)
      : loop_(loop), plan_(std::move(plan)), reception_(reception), guests_(guests), checker_(checker) {}

  bool let_knock(const transport::ZapQuestion& question);
  void drain();
  void hear(const transport::Received& received);
  void check(const std::string& route, bool local, ProofToCheck question);
  void welcome(const std::string& route, bool local, Guest guest);
  void refuse(const std::string& route, const Error& error);
  void send(const std::string& route, const protocol::Header& header);
  void watch();
  void recycle();

  transport::EventLoop& loop_;
  const DoorPlan plan_;
  Reception reception_;
  Guests& guests_;
  ProofChecker& checker_;
  std::unique_ptr<transport::RouterSocket> socket_;
  transport::EventLoop::WatchId watch_ = 0, recycle_timer_ = 0;
  int visits_ = 0;  // handshakes since the last recycling
};

}  // namespace pounce::daemon
