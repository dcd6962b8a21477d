#include "client/calls.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <thread>
#include <utility>

#include "base/check.h"

namespace pounce::client {
namespace {

constexpr std::chrono::microseconds kGoesOn{100};  // after its last call, a thread may make another
constexpr std::chrono::microseconds kPause{500};   // of the notifier
constexpr int kMostPauses = 4;

constexpr char kDropped[] = "\n[pounce: output dropped here, since nobody read it]\n";

}  // namespace

EventQueue::EventQueue() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  POUNCE_CHECK(static_cast<bool>(wake_), "no descriptor left for an eventfd");
}

void EventQueue::push(Event event) {
  const std::scoped_lock lock(mutex_);
  if (auto* printed = std::get_if<Printed>(&event)) {
    if (printed_bytes_ > kMaxPrintedBytes) return;
    printed_bytes_ += printed->text.size();
    for (const std::string& buffer : printed->buffers) printed_bytes_ += buffer.size();
    if (printed_bytes_ > kMaxPrintedBytes) *printed = Printed{printed->task, printed->to_stderr, kDropped, false, {}};
  }
  queue_.push_back(std::move(event));
  if (waiters_ == 0 && queue_.size() == 1) signal();  // else it was woken already, and takes all there is
}

std::vector<Event> EventQueue::drain() {
  const std::scoped_lock lock(mutex_);
  printed_bytes_ = 0;
  return std::exchange(queue_, {});
}

bool EventQueue::empty() const {
  const std::scoped_lock lock(mutex_);
  return queue_.empty();
}

void EventQueue::enter() {
  const std::scoped_lock lock(mutex_);
  ++waiters_;
}

void EventQueue::leave() {
  const std::scoped_lock lock(mutex_);
  if (--waiters_ == 0 && !queue_.empty()) signal();
}

void EventQueue::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  signal();
}

bool EventQueue::wait() {
  pollfd waited{wake_.get(), POLLIN, 0};
  while (::poll(&waited, 1, -1) < 0) continue;  // EINTR: the notifier takes no signals
  let_callers_go_on();
  eventfd_t ignored;
  ::eventfd_read(wake_.get(), &ignored);
  const std::scoped_lock lock(mutex_);
  return !closed_;
}

void EventQueue::let_callers_go_on() const {
  for (int i = 0; i < kMostPauses && Clock::now() < called_at_.load(std::memory_order_relaxed) + kGoesOn; ++i)
    std::this_thread::sleep_for(kPause);
}

void EventQueue::signal() const { ::eventfd_write(wake_.get(), 1); }

}  // namespace pounce::client
