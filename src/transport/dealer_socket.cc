#include "transport/dealer_socket.h"

#include <cstring>

#include "base/check.h"
#include "base/network.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {
namespace {

constexpr int kWatched = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

std::optional<Link> link_of(std::uint16_t event) {
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      return Link::kConnected;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return Link::kRefused;
    case ZMQ_EVENT_DISCONNECTED:
      return Link::kDisconnected;
    default:
      return std::nullopt;  // no detail: a connection cut during the handshake; libzmq tries again
  }
}

void probe_when_silent(zmq::socket_t& socket, std::chrono::seconds silence) {
  const Probes probes = probes_within(silence);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, probes.pause_s);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, probes.pause_s);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, probes.number);
  socket.set(zmq::sockopt::tcp_maxrt, milliseconds(silence));  // where bytes of ours are on their way
}

}  // namespace

struct DealerSocket::Impl {
  zmq::socket_t socket, monitor;

  ~Impl() {
    if (socket.handle() != nullptr) zmq_socket_monitor(socket.handle(), nullptr, 0);
  }
  void open(Context& context, const KeyPair& own, const PublicKey& server, const ClientOptions& options,
            const std::string& endpoint);
};

void DealerSocket::Impl::open(Context& context, const KeyPair& own, const PublicKey& server,
                              const ClientOptions& options, const std::string& endpoint) {
  socket = zmq::socket_t(zmq_context(context), zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  set_keys(socket, own);
  socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(server.bytes));
  set_limits(socket, options);
  if (options.keepalive.count() > 0) probe_when_silent(socket, options.keepalive);
  socket.set(zmq::sockopt::immediate, 1);  // do not queue for a connection that is not established
  socket.set(zmq::sockopt::reconnect_ivl, 100);
  socket.set(zmq::sockopt::reconnect_ivl_max, 5000);
  const std::string watch = unused_monitor_name();
  if (zmq_socket_monitor(socket.handle(), watch.c_str(), kWatched) != 0) throw zmq::error_t();
  monitor = zmq::socket_t(zmq_context(context), zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.connect(watch);
  socket.connect(endpoint);
}

DealerSocket::DealerSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DealerSocket::~DealerSocket() = default;

Result<std::unique_ptr<DealerSocket>> DealerSocket::connect(Context& context, const KeyPair& own,
                                                            const PublicKey& server, const ClientOptions& options,
                                                            const std::string& endpoint) {
  POUNCE_CHECK(options.max_frame_bytes > 0, "a client needs a limit");
  auto impl = std::make_unique<Impl>();
  const auto opened = guarded(ErrorCode::kInternal, "cannot connect to " + endpoint,
                              [&] { impl->open(context, own, server, options, endpoint); });
  if (!opened) return failure(opened.error());
  return std::unique_ptr<DealerSocket>(new DealerSocket(std::move(impl)));
}

std::optional<Message> DealerSocket::receive() {
  while (auto message = receive_message(impl_->socket))
    if (!message->empty()) return message;
  return std::nullopt;
}

Sent DealerSocket::send(Message& frames) {
  return send_message(impl_->socket, nullptr, frames) ? Sent::kYes : Sent::kFull;
}

std::optional<Link> DealerSocket::link_event() {
  while (auto message = receive_message(impl_->monitor)) {
    if (message->empty() || message->front().size() < sizeof(std::uint16_t)) continue;
    std::uint16_t event = 0;
    std::memcpy(&event, message->front().bytes().data(), sizeof event);
    if (const auto link = link_of(event)) return link;
  }
  return std::nullopt;
}

void* DealerSocket::handle() { return impl_->socket.handle(); }
void* DealerSocket::monitor_handle() { return impl_->monitor.handle(); }
int DealerSocket::fd() const { return impl_->socket.get(zmq::sockopt::fd); }
int DealerSocket::monitor_fd() const { return impl_->monitor.get(zmq::sockopt::fd); }

bool DealerSocket::ready(bool to_send) {
  const int events = through_signals([&] { return impl_->socket.get(zmq::sockopt::events); });
  return (events & (ZMQ_POLLIN | (to_send ? ZMQ_POLLOUT : 0))) != 0;
}

}  // namespace pounce::transport
