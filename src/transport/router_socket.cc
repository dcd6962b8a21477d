#include "transport/router_socket.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/check.h"
#include "transport/connection_monitor.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {
namespace {

constexpr int kZapEnforceDomain = 93;  // ZMQ_ZAP_ENFORCE_DOMAIN, a draft name: Debian's build has the option

struct Ports {
  std::string before;  // "tcp://10.77.0.1:"
  unsigned first = 0, last = 0;
};

std::optional<Ports> ports_of(const std::string& endpoint) {
  const auto colon = endpoint.rfind(':'), dash = endpoint.rfind('-');
  if (!endpoint.starts_with("tcp://") || dash == std::string::npos || dash < colon) return std::nullopt;
  Ports ports{endpoint.substr(0, colon + 1)};
  std::from_chars(endpoint.data() + colon + 1, endpoint.data() + dash, ports.first);
  std::from_chars(endpoint.data() + dash + 1, endpoint.data() + endpoint.size(), ports.last);
  if (ports.first == 0 || ports.last < ports.first || ports.last > 65535) return std::nullopt;
  return ports;
}

std::optional<std::uint16_t> port_of(const std::string& endpoint) {
  std::uint16_t port = 0;
  const char* const end = endpoint.data() + endpoint.size();
  if (!endpoint.starts_with("tcp://") ||
      std::from_chars(endpoint.data() + endpoint.rfind(':') + 1, end, port).ptr != end)
    return std::nullopt;
  return port;
}

// Takes the first free port of a range. The pid decides where the search starts, because many processes of a node
// search at once.
void bind_one(zmq::socket_t& socket, const std::string& endpoint) {
  const auto ports = ports_of(endpoint);
  if (!ports) return socket.bind(endpoint);
  const unsigned count = ports->last - ports->first + 1, start = static_cast<unsigned>(::getpid()) % count;
  for (unsigned tried = 0; tried < count; ++tried) {
    const std::string one = ports->before + std::to_string(ports->first + (start + tried) % count);
    if (zmq_bind(socket.handle(), one.c_str()) == 0) return;
    if (zmq_errno() != EADDRINUSE) throw zmq::error_t();
  }
  errno = EADDRINUSE;
  throw zmq::error_t();
}

}  // namespace

struct RouterSocket::Impl {
  Impl(Context& context, const KeyPair& pair, const ServerOptions& chosen) : context(context), options(chosen) {
    keys.public_key = pair.public_key;
    keys.secret_key.bytes() = pair.secret_key.bytes();
  }

  ~Impl() {
    if (socket.handle() != nullptr) zmq_socket_monitor(socket.handle(), nullptr, 0);
  }

  void open(const std::vector<std::string>& wanted);

  Context& context;
  KeyPair keys;
  ServerOptions options;
  zmq::socket_t socket;
  ConnectionMonitor connections;
  std::vector<std::string> endpoints;
};

// Order matters: keys, domain and enforcement before bind, or a peer could connect in between.
void RouterSocket::Impl::open(const std::vector<std::string>& wanted) {
  socket = zmq::socket_t(zmq_context(context), zmq::socket_type::router);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::curve_server, 1);
  set_keys(socket, keys);
  socket.set(zmq::sockopt::zap_domain, options.zap_domain);
  const int on = 1;
  if (zmq_setsockopt(socket.handle(), kZapEnforceDomain, &on, sizeof on) != 0) throw zmq::error_t();
  socket.set(zmq::sockopt::router_mandatory, 1);
  socket.set(zmq::sockopt::router_handover, 0);
  set_limits(socket, options);
  socket.set(zmq::sockopt::backlog, 1024);
  const ConnectionMonitor::Wanted watched{options.tells_losses, options.most_newcomers};
  if (watched.anything()) connections.watch(context, socket, watched);
  endpoints.clear();
  for (const std::string& endpoint : wanted) {
    bind_one(socket, endpoint);
    endpoints.push_back(socket.get(zmq::sockopt::last_endpoint));
  }
}

RouterSocket::RouterSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RouterSocket::~RouterSocket() = default;

Result<std::unique_ptr<RouterSocket>> RouterSocket::bind(Context& context, const KeyPair& keys,
                                                         const ServerOptions& options,
                                                         const std::vector<std::string>& endpoints) {
  POUNCE_CHECK(options.max_frame_bytes > 0 && !options.zap_domain.empty(), "a server needs a limit and a ZAP domain");
  auto impl = std::make_unique<Impl>(context, keys, options);
  const auto opened = guarded(ErrorCode::kInternal, "cannot bind " + (endpoints.empty() ? "" : endpoints.front()),
                              [&] { impl->open(endpoints); });
  if (!opened) return failure(opened.error());
  return std::unique_ptr<RouterSocket>(new RouterSocket(std::move(impl)));
}

const std::vector<std::string>& RouterSocket::endpoints() const { return impl_->endpoints; }
void* RouterSocket::handle() { return impl_->socket.handle(); }

std::optional<Received> RouterSocket::receive() {
  while (auto message = receive_message(impl_->socket)) {
    if (message->size() < 2) continue;  // no payload, or too many frames
    Received received;
    received.route = message->front().text();
    auto& first = (*message)[1].impl().message;  // the routing frame is libzmq's own and carries no properties
    const auto key = from_z85(property(first, "User-Id").value_or(""));
    if (!key) continue;  // cannot be: ZAP set it
    received.peer = *key;
    if (impl_->connections.handle() != nullptr) impl_->connections.came_in(received.route, first);
    received.address = property(first, "Peer-Address").value_or("");
    received.uid = uid_of(received.address);
    message->erase(message->begin());
    received.frames = std::move(*message);
    return received;
  }
  return std::nullopt;
}

Sent RouterSocket::send(const std::string& route, Message& frames) {
  try {
    return send_message(impl_->socket, &route, frames) ? Sent::kYes : Sent::kFull;
  } catch (const zmq::error_t& error) {
    return Sent::kNoSuchPeer;  // EHOSTUNREACH, thanks to ROUTER_MANDATORY
  }
}

std::optional<std::string> RouterSocket::lost_route() { return impl_->connections.lost_route(); }

void RouterSocket::cut(const std::string& route) {
  for (const std::string& endpoint : impl_->endpoints)
    if (const auto port = port_of(endpoint)) impl_->connections.cut(route, *port);
}

void RouterSocket::cut_newcomers() {
  for (const std::string& endpoint : impl_->endpoints)
    if (const auto port = port_of(endpoint)) impl_->connections.cut_newcomers(*port);
}

void* RouterSocket::monitor_handle() { return impl_->connections.handle(); }

}  // namespace pounce::transport
