#include "transport/local_channel.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "transport/zmq_context.h"  // to_z85

namespace pounce::transport {

LocalAddress local_address(const PublicKey& worker) {
  const std::string name = "pounce-worker/" + to_z85(worker);
  LocalAddress local;
  local.address.sun_family = AF_UNIX;
  std::memcpy(local.address.sun_path + 1, name.data(), name.size());  // behind a zero: no file
  local.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return local;
}

bool of_our_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

std::unique_ptr<LocalChannel> LocalChannel::connect(const PublicKey& worker, std::size_t max_frame_bytes) {
  const LocalAddress to = local_address(worker);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) != 0 ||
      !of_our_user(fd.get()))
    return nullptr;
  return std::unique_ptr<LocalChannel>(new LocalChannel(LocalStream(std::move(fd), max_frame_bytes)));
}

std::optional<Message> LocalChannel::receive() {
  return ready(false) ? std::exchange(next_, std::nullopt) : std::nullopt;
}

Sent LocalChannel::send(Message& frames) { return stream_.send(frames) == Sent::kYes ? Sent::kYes : Sent::kFull; }

bool LocalChannel::ready(bool to_send) {
  if (!next_) next_ = stream_.receive();
  return next_ || (to_send && stream_.takes_more());
}

std::optional<Link> LocalChannel::link_event() {
  if (!std::exchange(told_connected_, true)) return Link::kConnected;
  if (!stream_.open() && !next_ && !std::exchange(told_lost_, true)) return Link::kDisconnected;
  return std::nullopt;
}

namespace {

constexpr std::chrono::milliseconds kNoDescriptors{100};
constexpr int kBacklog = 64;
constexpr std::size_t kMostStreams = 64;  // for one user's processes on one machine
constexpr std::chrono::seconds kLongestStuck{10};
constexpr char kRoute[] = "local ";  // routes of a RouterSocket begin with a zero byte

}  // namespace

std::unique_ptr<LocalServer> LocalServer::listen(const PublicKey& own, std::size_t max_frame_bytes) {
  const LocalAddress at = local_address(own);
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 ||
      ::listen(listener.get(), kBacklog) != 0)
    return nullptr;
  return std::unique_ptr<LocalServer>(new LocalServer(std::move(listener), max_frame_bytes));
}

bool LocalServer::is_route(const std::string& route) { return route.starts_with(kRoute); }

void LocalServer::add_to(PollSet& polled) {
  polled_as_.reset();
  if (Clock::now() >= deaf_until_) polled_as_ = polled.add_fd(listener_.get());
  for (const auto& [route, stream] : streams_) polled.add_fd(stream.fd(), stream.unsent());
}

void LocalServer::accept_waiting(const PollSet& polled) {
  while (polled_as_ && polled.readable(*polled_as_)) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    // Otherwise the poll would return at once again and again
    if (!fd && (errno == EMFILE || errno == ENFILE)) deaf_until_ = Clock::now() + kNoDescriptors;
    if (!fd) return;
    if (!of_our_user(fd.get()) || streams_.size() >= kMostStreams) continue;
    streams_.emplace(kRoute + std::to_string(++accepted_), LocalStream(std::move(fd), max_frame_bytes_));
  }
}

std::optional<Received> LocalServer::receive() {
  auto it = streams_.upper_bound(last_heard_);
  for (std::size_t remaining = streams_.size(); remaining > 0; --remaining) {
    if (it == streams_.end()) it = streams_.begin();
    if (auto message = it->second.receive()) {
      Received received;
      received.route = last_heard_ = it->first;
      received.local = true;
      received.frames = std::move(*message);
      return received;
    }
    it = it->second.open() ? std::next(it) : streams_.erase(it);
  }
  return std::nullopt;
}

Sent LocalServer::send(const std::string& route, Message& frames) {
  const auto found = streams_.find(route);
  return found == streams_.end() ? Sent::kNoSuchPeer : found->second.send(frames);
}

void LocalServer::flush() {
  for (auto& [route, stream] : streams_) {
    stream.flush();
    if (stream.stuck_since() != TimePoint::max() && Clock::now() > stream.stuck_since() + kLongestStuck) stream.close();
  }
}

void LocalServer::cut(const std::string& route) {
  if (const auto found = streams_.find(route); found != streams_.end()) found->second.close();
}

}  // namespace pounce::transport
