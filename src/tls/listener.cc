#include "tls/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "tls/tcp_socket.h"

namespace pounce::tls {
namespace {

constexpr int kInOneCall = 64;
constexpr std::chrono::milliseconds kWithoutDescriptor{100};

}  // namespace

Listener::Listener(UniqueFd listening, UniqueFd epoll, std::string endpoint, const Options& options,
                   std::size_t most_newcomers)
    : listening_(std::move(listening)),
      epoll_(std::move(epoll)),
      endpoint_(std::move(endpoint)),
      options_(options),
      most_newcomers_(most_newcomers) {}

Result<std::unique_ptr<Listener>> Listener::bind(const std::string& endpoint, const Options& options,
                                                 std::size_t most_newcomers) {
  if (!Stream::available()) return failure(ErrorCode::kInternal, "this build of pounce has no OpenSSL");
  auto listening = listen_at(endpoint);
  if (!listening) return failure(listening.error());
  std::unique_ptr<Listener> bound(new Listener(std::move(listening->fd), UniqueFd(::epoll_create1(EPOLL_CLOEXEC)),
                                               std::move(listening->endpoint), options, most_newcomers));
  if (!bound->watch(bound->listening_.get())) return failure(ErrorCode::kInternal, "cannot watch " + bound->endpoint_);
  return bound;
}

bool Listener::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Listener::announce(Credential credential) { known_[credential.id] = std::move(credential.key); }

// False: no connection waits, or there is no descriptor for one.
bool Listener::let_in_one() {
  UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
      return errno == ECONNABORTED || errno == EINTR;
    no_descriptor_until_ = Clock::now() + kWithoutDescriptor;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listening_.get(), nullptr);
    return false;
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!watch(socket.get())) return true;
  const auto key_of = [this](const PeerId& id) {
    const auto known = known_.find(id);
    return known == known_.end() ? nullptr : &known->second;
  };
  newcomers_.push_back({Stream::server(std::move(socket), key_of), Clock::now() + options_.handshake});
  if (newcomers_.size() > most_newcomers_) newcomers_.pop_front();
  return true;
}

// Advances every handshake: they are few, and each only checks its own socket.
std::unique_ptr<Stream> Listener::next_open() {
  const TimePoint now = Clock::now();
  for (auto one = newcomers_.begin(); one != newcomers_.end();) {
    one->stream->shake_hands();
    const auto state = one->stream->state();
    const bool waits = state == Stream::State::kHandshake && now < one->until;
    auto stream = waits ? nullptr : std::move(one->stream);
    one = waits ? one + 1 : newcomers_.erase(one);
    if (stream && state == Stream::State::kOpen) return stream;
  }
  return nullptr;
}

std::unique_ptr<Channel> Listener::accept() {
  if (no_descriptor_until_ != TimePoint{} && Clock::now() >= no_descriptor_until_) {
    no_descriptor_until_ = {};
    watch(listening_.get());
  }
  for (int i = 0; i < kInOneCall && no_descriptor_until_ == TimePoint{} && let_in_one(); ++i) {
  }
  while (auto stream = next_open()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream->fd(), nullptr);
    if (known_.erase(stream->peer()) == 0) continue;  // used or forgotten during the handshake
    return std::make_unique<Channel>(std::move(stream), options_);
  }
  return nullptr;
}

TimePoint Listener::next_deadline() const {
  TimePoint deadline = no_descriptor_until_ == TimePoint{} ? TimePoint::max() : no_descriptor_until_;
  for (const Newcomer& one : newcomers_) deadline = std::min(deadline, one.until);
  return deadline;
}

}  // namespace pounce::tls
