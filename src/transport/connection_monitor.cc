#include "transport/connection_monitor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace pounce::transport {
namespace {

std::uint16_t local_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace

Newcomers::Newcomers(std::size_t most)
    : most_(most),
      nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      held_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

void Newcomers::cut_oldest(std::uint16_t own_port) {
  while (waiting_.size() > most_) {
    cut(waiting_.front(), own_port);
    waiting_.pop_front();
  }
}

// libzmq may have closed the descriptor already, and the task may have reused its number. So duplicate it first,
// check the duplicate, and cut that. libzmq closes its own when it sees the end.
void Newcomers::cut(int descriptor, std::uint16_t own_port) {
  if (::dup3(descriptor, held_.get(), O_CLOEXEC) < 0) return;
  if (local_port(held_.get()) == own_port) ::shutdown(held_.get(), SHUT_RDWR);
  ::dup3(nothing_.get(), held_.get(), O_CLOEXEC);
}

void ConnectionMonitor::watch(Context& context, zmq::socket_t& socket, Wanted wanted) {
  wanted_ = wanted;
  if (wanted.most_newcomers > 0) newcomers_.emplace(wanted.most_newcomers);
  const std::string name = unused_monitor_name();
  const int events = ZMQ_EVENT_DISCONNECTED | (newcomers_ ? ZMQ_EVENT_ACCEPTED : 0);
  if (zmq_socket_monitor(socket.handle(), name.c_str(), events) != 0) throw zmq::error_t();
  monitor_ = zmq::socket_t(zmq_context(context), zmq::socket_type::pair);
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.set(zmq::sockopt::rcvhwm, 0);  // a full queue would block libzmq's own thread
  monitor_.connect(name);
}

// If the descriptor is reused, the earlier news belong to the connection that had it before.
void ConnectionMonitor::came_in(const std::string& route, const zmq::message_t& message) {
  read_events();
  const int descriptor = zmq_msg_get(message.handle(), ZMQ_SRCFD);
  if (descriptor < 0) return;
  if (newcomers_) newcomers_->spoke(descriptor);
  std::string& known = routes_[descriptor];
  if (wanted_.losses && !known.empty() && known != route) lost_.push_back(known);
  known = route;
}

std::optional<std::string> ConnectionMonitor::lost_route() {
  read_events();
  if (lost_.empty()) return std::nullopt;
  std::string route = std::move(lost_.front());
  lost_.pop_front();
  return route;
}

void ConnectionMonitor::cut_newcomers(std::uint16_t port) {
  read_events();
  if (newcomers_) newcomers_->cut_oldest(port);
}

void ConnectionMonitor::cut(const std::string& route, std::uint16_t port) {
  read_events();
  const auto found = std::ranges::find(routes_, route, [](const auto& entry) { return entry.second; });
  if (newcomers_ && found != routes_.end()) newcomers_->cut(found->first, port);
}

// zmq_socket_monitor(3): the event's number (16 bits) and its value (32 bits), here the descriptor; then the
// endpoint.
void ConnectionMonitor::read_events() {
  while (const auto event = receive_message(monitor_)) {
    std::uint16_t number = 0;
    std::int32_t descriptor = -1;
    if (event->empty() || event->front().size() < sizeof number + sizeof descriptor) continue;
    std::memcpy(&number, event->front().bytes().data(), sizeof number);
    std::memcpy(&descriptor, event->front().bytes().data() + sizeof number, sizeof descriptor);
    on_event(number, descriptor);
  }
}

void ConnectionMonitor::on_event(std::uint16_t event, int descriptor) {
  if (event == ZMQ_EVENT_ACCEPTED) return newcomers_->came(descriptor);
  if (newcomers_) newcomers_->went(descriptor);
  lost(descriptor);
}

void ConnectionMonitor::lost(int descriptor) {
  if (auto known = routes_.extract(descriptor); known && wanted_.losses) lost_.push_back(std::move(known.mapped()));
}

}  // namespace pounce::transport
