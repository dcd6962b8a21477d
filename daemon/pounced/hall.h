// The hall: only keys that the door let in may even connect. Each message is handed on with the guest its key belongs
// to; what a message says about its sender is the desks' to compare. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/result.h"
#include "pounced/guests.h"
#include "protocol/messages.h"
#include "transport/context.h"
#include "transport/event_loop.h"
#include "transport/router_socket.h"

namespace pounce::daemon {

class Hall {
 public:
  static constexpr char kDomain[] = "hall";
  // back: the guest missed something before and is heard again.
  using Heard = std::function<void(Guest& guest, const protocol::Header& header, bool back)>;

  static Result<std::unique_ptr<Hall>> open(transport::EventLoop& loop, transport::Context& context,
                                            const KeyPair& keys, const std::vector<std::string>& endpoints,
                                            std::chrono::milliseconds heartbeat, unsigned uid, Guests& guests);
  ~Hall();

  void on_message(Heard heard) { heard_ = std::move(heard); }
  const std::vector<std::string>& endpoints() const { return socket_->endpoints(); }

  // false: it could not be sent; the guest is marked and told everything again when it speaks next.
  bool send(Guest& guest, const protocol::Header& header);

 private:
  Hall(transport::EventLoop& loop, Guests& guests) : loop_(loop), guests_(guests) {}
  void drain();
  void hear(const transport::Received& received);

  transport::EventLoop& loop_;
  Guests& guests_;
  std::unique_ptr<transport::RouterSocket> socket_;
  transport::EventLoop::WatchId watch_ = 0;
  Heard heard_;
};

}  // namespace pounce::daemon
