#include "worker/interpreter/data_sockets.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/network.h"
#include "identity/proof.h"
#include "memory/cgroup.h"
#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr char kZapDomain[] = "data";
constexpr int kHighWaterMark = 128;         // messages, of 1 MB each when bulk: 128 MB on their way
constexpr std::size_t kMostNewcomers = 64;  // connections that may hold a descriptor before they have authenticated
constexpr rlim_t kCrowd = 1024;             // connections that libzmq may accept before they are cut

// Raises the limit of descriptors by what untrusted peers at our port may take, so that the task has as many as the
// site allows.
void leave_room_for_untrusted_peers() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::min(files.rlim_max, files.rlim_cur + kCrowd);
  ::setrlimit(RLIMIT_NOFILE, &files);  // the limit is never lowered; a failure changes nothing
}

}  // namespace

DataSockets::DataSockets() : keys_(identity::make_key_pair()) {}

Result<std::string> DataSockets::bind(const Where& where, std::function<bool(const PublicKey&)> admits) {
  const auto address = where.interface.empty() ? address_facing(where.facing) : address_of_interface(where.interface);
  if (!address) return failure(address.error());
  leave_room_for_untrusted_peers();
  context_.admit(kZapDomain,
                 [admits = std::move(admits)](const transport::ZapQuestion& question) { return admits(question.key); });
  transport::ServerOptions options;
  options.zap_domain = kZapDomain;
  options.max_frame_bytes = protocol::kDataFrameBytes;
  options.high_water_mark = kHighWaterMark;
  options.heartbeat = 2s;
  options.heartbeat_timeout = 10s;
  options.most_newcomers = kMostNewcomers;
  const std::string endpoint = "tcp://" + *address + ":" + (where.ports.empty() ? "*" : where.ports);
  auto socket = transport::RouterSocket::bind(context_, keys_, options, {endpoint});
  if (!socket) return failure(std::move(socket.error()));
  network_ = std::move(*socket);
  local_ = transport::LocalServer::listen(keys_.public_key, protocol::kDataFrameBytes);
  return endpoint;
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
  polled.add_socket(context_.zap_handle());
}

void DataSockets::admit_waiting(const transport::PollSet& polled) {
  if (polled.readable(connections_)) network_->cut_newcomers();
  if (local_) local_->accept_waiting(polled);
}

}  // namespace pounce::worker
