#include "transport/event_loop.h"

#include <algorithm>
#include <map>
#include <vector>

#include "transport/poll_set.h"

namespace pounce::transport {
namespace {

struct Watch {
  void* socket = nullptr;
  int fd = -1;
  std::shared_ptr<EventLoop::Callback> ready;  // shared: a callback may unwatch itself while it runs
};

struct Timer {
  EventLoop::WatchId id;
  std::shared_ptr<EventLoop::Callback> due;
};

}  // namespace

struct EventLoop::Impl {
  std::map<WatchId, Watch> watches;
  std::multimap<TimePoint, Timer> timers;
  WatchId next_id = 1;
  bool stopped = false;
  PollSet poll;

  WatchId add(Watch watch) {
    watches.emplace(next_id, std::move(watch));
    return next_id++;
  }
  void run_due_timers();
  void run_ready_watches();
};

void EventLoop::Impl::run_due_timers() {
  const TimePoint now = Clock::now();
  while (!stopped && !timers.empty() && timers.begin()->first <= now) {
    const auto due = timers.begin()->second.due;
    timers.erase(timers.begin());
    (*due)();
  }
}

void EventLoop::Impl::run_ready_watches() {
  std::vector<WatchId> order;
  poll.clear();
  for (const auto& [id, watch] : watches) {
    order.push_back(id);
    if (watch.socket != nullptr)
      poll.add_socket(watch.socket);
    else
      poll.add_fd(watch.fd);
  }
  if (!poll.wait(timers.empty() ? TimePoint::max() : timers.begin()->first)) return;
  for (std::size_t i = 0; i < order.size() && !stopped; ++i) {
    if (!poll.readable(i)) continue;
    const auto watch = watches.find(order[i]);
    if (watch == watches.end()) continue;  // removed by a callback of this turn
    const auto ready = watch->second.ready;
    (*ready)();
  }
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

EventLoop::WatchId EventLoop::watch_socket(void* handle, Callback ready) {
  return impl_->add({handle, -1, std::make_shared<Callback>(std::move(ready))});
}

EventLoop::WatchId EventLoop::watch_fd(int fd, Callback readable) {
  return impl_->add({nullptr, fd, std::make_shared<Callback>(std::move(readable))});
}

void EventLoop::unwatch(WatchId id) {
  impl_->watches.erase(id);
  std::erase_if(impl_->timers, [id](const auto& timer) { return timer.second.id == id; });
}

EventLoop::WatchId EventLoop::at(TimePoint when, Callback due) {
  impl_->timers.emplace(when, Timer{impl_->next_id, std::make_shared<Callback>(std::move(due))});
  return impl_->next_id++;
}

void EventLoop::run() {
  impl_->stopped = false;
  while (!impl_->stopped) {
    impl_->run_due_timers();
    if (!impl_->stopped) impl_->run_ready_watches();
  }
}

void EventLoop::stop() { impl_->stopped = true; }

}  // namespace pounce::transport
