// poll(2) over the sockets' own descriptors. zmq_poll would check each socket before and after it sleeps and poll
// twice. Here each socket is checked once; what its descriptor reports afterwards is taken as a hint.
#include "transport/poll_set.h"

#include <poll.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "transport/spin.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {
namespace {

template <class Value>
Value option(void* socket, int name) {
  Value value{};
  std::size_t size = sizeof value;
  int result;
  do {
    result = zmq_getsockopt(socket, name, &value, &size);
  } while (result != 0 && zmq_errno() == EINTR);
  POUNCE_CHECK(result == 0, "a socket that is polled is open");
  return value;
}

timespec time_left(TimePoint until) {
  const auto left = std::clamp<std::int64_t>((until - Clock::now()).count(), 0, 86'400'000'000'000);
  return {left / 1'000'000'000, left % 1'000'000'000};
}

}  // namespace

struct PollSet::Impl {
  struct Item {
    void* socket;  // null: a plain descriptor
    bool want_write, readable = false, writable = false;
  };
  std::vector<Item> items;
  std::vector<pollfd> polled;
  std::optional<Spin> spin;

  int poll(const timespec& limit) {
    return spin ? spin->poll(polled.data(), polled.size(), limit) : ::ppoll(polled.data(), polled.size(), &limit, nullptr);
  }

  bool ask_sockets();
  void take_answers();
};

PollSet::PollSet(Wait how) : impl_(std::make_unique<Impl>()) {
  if (how == Wait::kSpins) impl_->spin.emplace();
}
PollSet::~PollSet() = default;

void PollSet::clear() {
  impl_->items.clear();
  impl_->polled.clear();
}

std::size_t PollSet::add_socket(void* handle, bool want_write) {
  impl_->items.push_back({handle, want_write});
  impl_->polled.push_back({option<int>(handle, ZMQ_FD), POLLIN, 0});  // ZeroMQ's descriptor is only ever read
  return impl_->items.size() - 1;
}

std::size_t PollSet::add_fd(int fd, bool want_write) {
  impl_->items.push_back({nullptr, want_write});
  impl_->polled.push_back({fd, static_cast<short>(POLLIN | (want_write ? POLLOUT : 0)), 0});
  return impl_->items.size() - 1;
}

// Querying ZMQ_EVENTS consumes every change so far: only then does the descriptor report the next one.
bool PollSet::Impl::ask_sockets() {
  bool any = false;
  for (Item& item : items) {
    if (item.socket == nullptr) continue;
    const int events = option<int>(item.socket, ZMQ_EVENTS);
    item.readable = (events & ZMQ_POLLIN) != 0;
    item.writable = item.want_write && (events & ZMQ_POLLOUT) != 0;
    any |= item.readable || item.writable;
  }
  return any;
}

void PollSet::Impl::take_answers() {
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    const short events = polled[i].revents;
    if (events == 0) continue;
    item.readable |= (events & (POLLIN | POLLERR | POLLHUP)) != 0;
    item.writable |= item.want_write && (item.socket != nullptr || (events & POLLOUT) != 0);
  }
}

bool PollSet::wait(TimePoint until) {
  for (auto& item : impl_->items) item.readable = item.writable = false;
  const bool already = impl_->ask_sockets();
  const timespec limit = already ? timespec{} : time_left(until);
  const int ready = impl_->poll(limit);
  if (ready > 0) impl_->take_answers();  // EINTR: the descriptors' events are not set
  return already || ready > 0;
}

bool PollSet::readable(std::size_t index) const { return impl_->items[index].readable; }
bool PollSet::writable(std::size_t index) const { return impl_->items[index].writable; }

}  // namespace pounce::transport
