#include "worker/interpreter/data_sockets.h"

#include <utility>

#include "memory/cgroup.h"

namespace pounce::worker {

void DataSockets::open(std::unique_ptr<transport::RouterSocket> network,
                       std::unique_ptr<transport::LocalServer> local) {
  network_ = std::move(network);
  local_ = std::move(local);
}

std::optional<transport::Received> DataSockets::receive() {
  local_first_ = !local_first_;  // so that neither starves the other
  if (local_ && local_first_)
    if (auto message = local_->receive()) return message;
  if (!network_empty_) {
    if (auto message = network_->receive()) return message;
    network_empty_ = true;
  }
  return local_ && !local_first_ ? local_->receive() : std::nullopt;
}

transport::Sent DataSockets::send(const std::string& route, transport::Message& frames) {
  if (!transport::LocalServer::is_route(route)) return network_->send(route, frames);
  return local_ ? local_->send(route, frames) : transport::Sent::kNoSuchPeer;
}

bool DataSockets::passes_memory(const std::string& route) const {
  return transport::LocalServer::is_route(route) && !memory::memory_is_limited();
}

void DataSockets::flush() {
  if (local_) local_->flush();
}

void DataSockets::cut(const std::string& route) {
  if (!transport::LocalServer::is_route(route)) return network_->cut(route);
  if (local_) local_->cut(route);
}

void DataSockets::add_to(transport::PollSet& polled) {
  network_empty_ = false;
  polled.add_socket(network_->handle());
  connections_ = polled.add_socket(network_->monitor_handle());
  if (local_) local_->add_to(polled);
}

void DataSockets::admit_waiting(const transport::PollSet& polled) {
  if (polled.readable(connections_)) network_->cut_newcomers();
  if (local_) local_->accept_waiting(polled);
}

}  // namespace pounce::worker
