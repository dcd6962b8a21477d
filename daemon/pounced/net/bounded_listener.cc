#include "pounced/net/bounded_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stop_token>
#include <utility>

#include "base/log.h"
#include "base/threads.h"
#include "pounced/net/peers.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOwnDescriptors = 192;  // files, pounce-slurm, this machine's own notebooks
constexpr std::size_t kEach = 3;              // descriptors per connection: the peer's, ours to libzmq, libzmq's own
constexpr std::size_t kMostNewcomers = 256;
constexpr auto kHello = 5s;     // from the connection to the welcome
constexpr auto kSilent = 45s;   // a connection whose host is gone ends; peers' own beats show that they live
constexpr auto kEntering = 3s;  // libzmq cuts a handshake after 2 s

// A quarter of the remaining descriptors stays with this machine's own notebooks.
std::size_t share(std::size_t descriptors, std::size_t parts, std::size_t least, std::size_t most) {
  const std::size_t connections = descriptors > kOwnDescriptors ? (descriptors - kOwnDescriptors) / kEach : 0;
  return std::clamp(connections / parts, least, most);
}

}  // namespace

ListenerBounds handshake_bounds(std::size_t descriptors) {
  const std::size_t newcomers = share(descriptors, 4, 4, kMostNewcomers);
  return {newcomers, newcomers, kHello, false};
}

ListenerBounds control_bounds(std::size_t descriptors) {
  return {share(descriptors, 2, 8, Peers::kMost + kMostNewcomers), share(descriptors, 8, 4, kMostNewcomers), kEntering,
          true};
}

namespace {

constexpr std::size_t kPiece = 16 * 1024;

template <class Call>
ssize_t through_signals(const Call& call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

// Pumps both directions even if one fails: the last bytes of the closed side may travel in the other.
bool ProxiedConnection::pump() {
  const bool in = inwards_.move(peer_.get(), inside_.get());
  const bool out = outwards_.move(inside_.get(), peer_.get());
  return in && out;
}

bool ProxiedConnection::Flow::move(int from, int to) {
  Step step = Step::kOn;
  while (step == Step::kOn) {
    step = hand_on(to);
    if (step == Step::kOn) step = allowance > 0 ? take(from) : Step::kLater;
  }
  return step != Step::kOver;
}

ProxiedConnection::Step ProxiedConnection::Flow::hand_on(int to) {
  while (!pending.empty()) {
    const ssize_t sent =
        through_signals([&] { return ::send(to, pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (sent < 0) return errno == EAGAIN ? Step::kLater : Step::kOver;
    pending.erase(0, static_cast<std::size_t>(sent));
  }
  return Step::kOn;
}

ProxiedConnection::Step ProxiedConnection::Flow::take(int from) {
  char piece[kPiece];
  const ssize_t size =
      through_signals([&] { return ::recv(from, piece, std::min(sizeof piece, allowance), MSG_DONTWAIT); });
  if (size == 0) return Step::kOver;
  if (size < 0) return errno == EAGAIN ? Step::kLater : Step::kOver;
  pending.assign(piece, static_cast<std::size_t>(size));
  if (allowance != kUnlimited) allowance -= static_cast<std::size_t>(size);
  return Step::kOn;
}

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kPort = 0, kStop = 1;
constexpr auto kNoDescriptor = 200ms;  // until accept is tried again
constexpr std::uint32_t kNews = EPOLLIN | EPOLLRDHUP | EPOLLET;

bool tell_of(int epoll, int fd, std::uint64_t id, std::uint32_t events, int how = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, how, fd, &event) == 0;
}

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

}  // namespace

Result<std::unique_ptr<BoundedListener>> BoundedListener::open(std::string name, ListeningSocket listening,
                                                               std::string inside, ListenerBounds bounds) {
  std::unique_ptr<BoundedListener> self(
      new BoundedListener(std::move(name), std::move(listening), std::move(inside), bounds));
  if (const auto watched = self->watch(); !watched) return failure(watched.error());
  self->thread_ = std::jthread([self = self.get()](std::stop_token stop) { self->serve(std::move(stop)); });
  return self;
}

BoundedListener::~BoundedListener() = default;

Result<void> BoundedListener::watch() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (epoll_ && stop_ && tell_of(epoll_.get(), listening_.fd.get(), kPort, EPOLLIN) &&
      tell_of(epoll_.get(), stop_.get(), kStop, EPOLLIN))
    return {};
  return failure(ErrorCode::kInternal, "the " + name_ + " listener: " + std::strerror(errno));
}

model::ListenerRow BoundedListener::row() const {
  return {name_, held_.load(), static_cast<std::uint64_t>(bounds_.connections), full_.load(), times_full_.load()};
}

void BoundedListener::serve(std::stop_token stop) {
  name_thread("pounced-listen");
  const std::stop_callback wake(stop, [this] { ::eventfd_write(stop_.get(), 1); });
  while (!stop.stop_requested()) turn();
}

void BoundedListener::turn() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), time_left());
  for (int i = 0; i < count; ++i) {
    const Id id = events[static_cast<std::size_t>(i)].data.u64;
    if (id == kPort)
      accept_some();
    else if (id != kStop)
      look_at(id);
  }
  settle_newcomers();
  note_room();
}

int BoundedListener::time_left() const {
  constexpr TimePoint kNever = TimePoint::max();
  const TimePoint settles = newcomers_.empty() ? kNever : newcomers_.begin()->second;
  const TimePoint again = no_descriptor_until_ > Clock::now() ? no_descriptor_until_ : kNever;
  const TimePoint next = std::min(settles, again);
  if (next == kNever) return -1;
  return static_cast<int>(
      std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count()));
}

void BoundedListener::look_at(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // closed earlier in this turn
  found->second.connection.pump() ? wait_for(id) : close(id);
}

// An edge-triggered watch reports each change. Setting it anew also reports a state that is there already.
void BoundedListener::wait_for(Id id) {
  Watched& one = connections_.at(id);
  const ProxiedConnection::Full before = std::exchange(one.full, one.connection.full());
  const auto tell = [&](int fd, bool was, bool is) {
    return was == is || tell_of(epoll_.get(), fd, id, is ? kNews | EPOLLOUT : kNews, EPOLL_CTL_MOD);
  };
  const bool peer = tell(one.connection.peer(), before.peer, one.full.peer),
             inside = tell(one.connection.inside(), before.inside, one.full.inside);
  if (!peer || !inside) close(id);
}

bool BoundedListener::has_room() const {
  return connections_.size() < bounds_.connections && newcomers_.size() < bounds_.newcomers &&
         Clock::now() >= no_descriptor_until_;
}

void BoundedListener::accept_some() {
  constexpr int kMostPerTurn = 64;  // existing connections need their turn too
  for (int i = 0; i < kMostPerTurn && has_room(); ++i)
    if (!accept_one()) return;
}

// False: no connection waits, or no descriptor is free.
bool BoundedListener::accept_one() {
  UniqueFd peer(::accept4(listening_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool no_descriptor = !peer && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (no_descriptor) no_descriptor_until_ = Clock::now() + kNoDescriptor;
  if (!peer) return !no_descriptor && errno != EAGAIN;
  const int on = 1;  // as libzmq sets it
  ::setsockopt(peer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  end_when_silent(peer.get(), kSilent);
  UniqueFd inside = connect_to(inside_);
  if (!inside) return true;  // the peer is turned away and tries again
  const Id id = ++last_id_;
  const int both[] = {peer.get(), inside.get()};
  connections_.try_emplace(id, Watched{ProxiedConnection(std::move(peer), std::move(inside), kNewcomerBytes)});
  newcomers_.emplace(id, Clock::now() + bounds_.newcomer);
  held_ = connections_.size();
  for (const int fd : both)
    if (!tell_of(epoll_.get(), fd, id, kNews)) close(id);
  return true;
}

void BoundedListener::settle_newcomers() {
  const TimePoint now = Clock::now();
  while (!newcomers_.empty() && newcomers_.begin()->second <= now) {
    const Id id = newcomers_.begin()->first;
    if (!bounds_.stays) {
      close(id);
      continue;
    }
    newcomers_.erase(id);
    connections_.at(id).connection.settle();
    look_at(id);
  }
}

void BoundedListener::close(Id id) {
  newcomers_.erase(id);
  connections_.erase(id);
  held_ = connections_.size();
}

// Stops watching the port while there is no room. The log says so once a minute at most, and says its end as often.
void BoundedListener::note_room() {
  const bool full = !has_room();
  if (full == waits_) return;
  waits_ = full_ = full;
  tell_of(epoll_.get(), listening_.fd.get(), kPort, full ? 0u : static_cast<std::uint32_t>(EPOLLIN), EPOLL_CTL_MOD);
  if (full) {
    ++times_full_;
    said_ = lines_.take(Clock::now());
    if (said_)
      spdlog::warn(
          "the {} listener takes nobody now: it holds {} connections, the newcomers among them {} ({} times more since "
          "the last line)",
          name_, connections_.size(), newcomers_.size(), std::exchange(unsaid_, 0));
    else
      ++unsaid_;
  } else if (std::exchange(said_, false)) {
    spdlog::info("the {} listener takes newcomers again", name_);
  }
}

}  // namespace pounce::daemon
