// A CURVE client: one connection to one known server key. libzmq reconnects by itself; a refused key (handshake
// failed for authentication) or a lost connection is reported by events(), after which the owner makes a new socket
// (such a socket is dead for ever: gotchas Z1). Thread: the one that owns the loop or leader token.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "transport/channel.h"
#include "transport/frame.h"
#include "transport/zmq_context.h"

namespace pounce::transport {

struct ClientOptions {
  std::size_t max_frame_bytes = 0;
  int high_water_mark = 1000;
  std::chrono::milliseconds handshake{3000};
  std::chrono::milliseconds heartbeat{0};
  std::chrono::milliseconds heartbeat_timeout{0};
  // TCP ends a connection whose other host has been silent for so long; 0: no probes.
  std::chrono::seconds keepalive{0};
};

class DealerSocket final : public Channel {
 public:
  static Result<std::unique_ptr<DealerSocket>> connect(Context& context, const KeyPair& own, const PublicKey& server,
                                                       const ClientOptions& options, const std::string& endpoint);
  ~DealerSocket() override;

  std::optional<Message> receive() override;
  Sent send(Message& frames) override;
  std::optional<Link> link_event() override;  // from the socket's monitor
  bool ready(bool to_send) override;
  // Cheaper than zmq_poll over handles. The descriptors report changes only, and every other call may swallow one:
  // poll them only after ready() returned false and link_event() returned nothing.
  int fd() const override;
  int monitor_fd() const override;
  bool tells_changes_only() const override { return true; }
  bool reconnects() const override { return true; }

  void* handle();
  void* monitor_handle();  // readable when link_event() has something

 private:
  struct Impl;
  explicit DealerSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::transport
