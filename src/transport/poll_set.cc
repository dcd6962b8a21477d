#include "transport/poll_set.h"

#include <algorithm>
#include <cerrno>

#include "transport/zmq_parts.h"

namespace pounce::transport {

struct PollSet::Impl {
  std::vector<zmq_pollitem_t> items;
};

PollSet::PollSet() : impl_(std::make_unique<Impl>()) {}
PollSet::~PollSet() = default;

void PollSet::clear() { impl_->items.clear(); }

std::size_t PollSet::add_socket(void* handle, bool want_write) {
  impl_->items.push_back({handle, 0, static_cast<short>(ZMQ_POLLIN | (want_write ? ZMQ_POLLOUT : 0)), 0});
  return impl_->items.size() - 1;
}

std::size_t PollSet::add_fd(int fd, bool want_write) {
  impl_->items.push_back({nullptr, fd, static_cast<short>(ZMQ_POLLIN | (want_write ? ZMQ_POLLOUT : 0)), 0});
  return impl_->items.size() - 1;
}

bool PollSet::wait(TimePoint until) {
  long milliseconds = -1;
  if (until != TimePoint::max()) {
    // Rounded up: waking a fraction early would spin.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    milliseconds = static_cast<long>(std::clamp<std::int64_t>(left.count(), 0, 86'400'000));
  }
  const int ready = zmq_poll(impl_->items.data(), static_cast<int>(impl_->items.size()), milliseconds);
  if (ready < 0)
    for (auto& item : impl_->items) item.revents = 0;  // EINTR: nothing is known
  return ready > 0;
}

bool PollSet::readable(std::size_t index) const {
  return (impl_->items[index].revents & (ZMQ_POLLIN | ZMQ_POLLERR)) != 0;
}

bool PollSet::writable(std::size_t index) const { return (impl_->items[index].revents & ZMQ_POLLOUT) != 0; }

}  // namespace pounce::transport
