// A CURVE server: many authenticated peers, addressed by the route of the connection a message came in on, never by
// a name a peer chose. ZAP enforce-domain is set or bind fails. Thread: the one that owns the loop or leader token.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "transport/channel.h"  // Sent
#include "transport/frame.h"
#include "transport/zmq_context.h"

namespace pounce::transport {

struct ServerOptions {
  std::string zap_domain;
  std::size_t max_frame_bytes = 0;  // ZMQ_MAXMSGSIZE; required
  int high_water_mark = 1000;       // messages queued per peer and direction
  std::chrono::milliseconds handshake{2000};
  std::chrono::milliseconds heartbeat{0};  // ZMTP heartbeats; 0 = off (handshake endpoint)
  std::chrono::milliseconds heartbeat_timeout{0};
  bool tells_losses = false;       // the owner calls lost_route()
  std::size_t most_newcomers = 0;  // silent tcp connections, for cut_newcomers(); 0: no bound
};

struct Received {
  std::string route;            // opaque; valid while that connection lives
  PublicKey peer;               // the key that ZAP admitted (ZMQ User-Id), not what the message says
  std::string address;          // ZMQ Peer-Address
  std::optional<unsigned> uid;  // on ipc: the kernel's peer uid
  bool local = false;           // over a LocalServer: a process of our own user, without a key
  Message frames;               // without the routing frame; at least one, at most kFramesPerMessage
};

class RouterSocket {
 public:
  // Endpoints like "tcp://10.77.0.1:*", "tcp://10.77.0.1:50000-50999" (one port of these) or "ipc:///path"; every one
  // is bound or all fail.
  static Result<std::unique_ptr<RouterSocket>> bind(Context& context, const KeyPair& keys, const ServerOptions& options,
                                                    const std::vector<std::string>& endpoints);
  ~RouterSocket();

  const std::vector<std::string>& endpoints() const;     // as bound, ports filled in
  std::optional<Received> receive();                     // non-blocking
  Sent send(const std::string& route, Message& frames);  // non-blocking; frames are consumed only on kYes
  void* handle();                                        // for polling
  // A lost connection over which something came; each one once. Call it again after each receive(), which finds some.
  std::optional<std::string> lost_route();
  void cut(const std::string& route);  // a tcp connection; only where newcomers are bounded
  void cut_newcomers();                // the oldest over their bound
  void* monitor_handle();              // readable when there may be a loss or a newcomer

 private:
  struct Impl;
  explicit RouterSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::transport
