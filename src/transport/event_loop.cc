#include "transport/event_loop.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/check.h"
#include "transport/zmq_parts.h"

namespace pounce::transport {
namespace {

constexpr std::chrono::microseconds kSoon{400};  // a wait this short suggests that another call follows

bool one_for_each_end() {
  cpu_set_t ours;
  static const bool several = ::sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) > 1;
  return several;
}

Duration of(const timespec& limit) {
  return std::chrono::seconds(limit.tv_sec) + std::chrono::nanoseconds(limit.tv_nsec);
}

}  // namespace

int Spin::poll(pollfd* items, std::size_t count, const timespec& limit) {
  if (of(limit) == Duration::zero()) return ::ppoll(items, count, &limit, nullptr);  // a mere check, not a wait
  const TimePoint begin = Clock::now();
  int ready = 0;
  if (hot_ && of(limit) > kLongest) ready = look(items, count, begin + kLongest);
  if (ready == 0) ready = ::ppoll(items, count, &limit, nullptr);
  hot_ = ready > 0 && in_vain_ < kMostInVain && one_for_each_end() && Clock::now() - begin < kSoon;
  if (ready > 0 && Clock::now() - begin < kSoon) in_vain_ = std::max(0, in_vain_ - 1);
  return ready;
}

int Spin::look(pollfd* items, std::size_t count, TimePoint until) {
  constexpr timespec kNow{};
  do {
    ++looks_;
    if (const int ready = ::ppoll(items, count, &kNow, nullptr); ready != 0) return ready;
  } while (Clock::now() < until);
  ++in_vain_;
  return 0;
}

// poll(2) over the sockets' own descriptors. zmq_poll would look at each socket before and after it sleeps and poll
// twice; here each is asked once, and what its descriptor says afterwards is taken for what it may have.

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
    return spin ? spin->poll(polled.data(), polled.size(), limit)
                : ::ppoll(polled.data(), polled.size(), &limit, nullptr);
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
