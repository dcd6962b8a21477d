// An engine for the leader token's tests: sleeps in poll until its mail arrives or it is woken. Its counters are plain
// on purpose: the leader token alone guards them, which a thread-sanitizer build checks.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/unique_fd.h"
#include "transport/leader_token.h"

namespace pounce::transport {

class FakeEngine : public Engine {
 public:
  void turn(int wake_fd, TimePoint until) override {
    enter();
    pollfd fds[2] = {{wake_fd, POLLIN, 0}, {mail_.get(), POLLIN, 0}};
    // Anything but "at once" is for ever, so that no wake-up is forgiven because a time-out makes good for it.
    ::poll(fds, 2, until - Clock::now() > std::chrono::milliseconds(100) ? -1 : 0);
    eventfd_t count = 0;
    if (::eventfd_read(mail_.get(), &count) == 0) take(count);
    if (on_turn) on_turn();
    ++turns;
    inside_ = false;
  }
  TimePoint next_deadline() const override { return Clock::now() + std::chrono::hours(1); }
  std::optional<std::vector<pollfd>> waited_for() override {
    if (!may_sleep) return std::nullopt;
    const std::lock_guard lock(mutex_);
    ++sleeps_;
    begun_.notify_all();
    return std::vector<pollfd>{{mail_.get(), POLLIN, 0}};
  }
  // Until the stand-by thread is about to sleep.
  void wait_for_sleep() {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return sleeps_ > 0; });
  }

  void post() const { ::eventfd_write(mail_.get(), 1); }  // from any thread

  // Until `n` letters have been read: a turn takes all that are there.
  void wait_for_letters(std::uint64_t n) {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return letters_told_ >= n; });
  }
  // Until turn number `n` has begun, in whichever thread.
  void wait_for_turn(int n) {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return turns_begun_ >= n; });
  }
  // Until `thread` has begun a turn as the last one so far.
  void wait_for_turn_of(std::thread::id thread) {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return turning_ == thread; });
  }
  std::thread::id turning_thread() {
    const std::lock_guard lock(mutex_);
    return turning_;
  }

  std::uint64_t letters = 0;
  int turns = 0;
  bool may_sleep = false;         // the stand-by thread, without the leader token
  std::function<void()> on_turn;  // at each turn's end; set before the leader token lives

 private:
  void take(eventfd_t count) {
    letters += count;
    const std::lock_guard lock(mutex_);
    letters_told_ = letters;
    begun_.notify_all();
  }
  void enter() {
    EXPECT_FALSE(inside_) << "two threads in the engine";
    inside_ = true;
    const std::lock_guard lock(mutex_);
    ++turns_begun_;
    turning_ = std::this_thread::get_id();
    begun_.notify_all();
  }

  const UniqueFd mail_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  bool inside_ = false;
  std::mutex mutex_;
  std::condition_variable begun_;
  int turns_begun_ = 0, sleeps_ = 0;
  std::uint64_t letters_told_ = 0;
  std::thread::id turning_;
};

}  // namespace pounce::transport
