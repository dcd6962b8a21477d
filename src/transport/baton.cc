#include "transport/baton.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/thread_name.h"
#include "base/unique_fd.h"

namespace pounce::transport {
namespace {

constexpr auto kLook = std::chrono::milliseconds(200);  // how often a waiting thread looks for signals
constexpr int kHot = 4;  // while others come and go, the stand-by looks again after this many graces: no wake per call

struct Waiter {  // in pump_until while another thread leads
  const std::function<bool()>& done;
  bool finished = false;
};

}  // namespace

struct Baton::Impl {
  Impl(Engine& engine, std::chrono::microseconds grace)
      : engine(engine), grace(grace), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  using Lock = std::unique_lock<std::mutex>;

  bool mine() const { return held && holder == std::this_thread::get_id(); }
  void take();
  void acquire(Lock& lock);
  void release();
  void turn(Lock& lock, TimePoint until);
  bool lead(Lock& lock, const std::function<bool()>& done, TimePoint deadline, TimePoint look);
  void follow(Lock& lock, Waiter& waiter, TimePoint until);
  void stand_by(const std::string& name);
  void pump_for_others(Lock& lock);

  Engine& engine;
  const std::chrono::microseconds grace;
  const UniqueFd wake;
  std::atomic<bool> abandoned = false;

  std::mutex mutex;  // guards everything below; never held during a turn
  std::condition_variable freed;    // the baton is free, or a waiter is finished
  std::condition_variable standby;  // for the stand-by thread alone
  bool held = false, in_turn = false, woken = false, parked = false, stopping = false;
  std::thread::id holder;
  int wanting = 0;                  // threads that wait for the baton itself
  std::list<Waiter*> waiters;       // threads that wait for something to come true
  std::uint64_t releases = 0;
  std::thread thread;               // last: started when all else stands
};

void Baton::Impl::take() {
  held = true;
  holder = std::this_thread::get_id();
}

// The holder is asked to end its turn; it sees `wanting` and lets go.
void Baton::Impl::acquire(Lock& lock) {
  ++wanting;
  while (held) {
    if (in_turn && !woken) {
      woken = true;
      ::eventfd_write(wake.get(), 1);
    }
    freed.wait(lock);
  }
  --wanting;
  take();
}

void Baton::Impl::release() {
  held = false;
  ++releases;
  if (wanting > 0 || !waiters.empty()) freed.notify_all();
  if (parked) {
    parked = false;
    standby.notify_one();
  }
}

// One engine turn without the mutex; then what it brought is told to those who wait for it.
void Baton::Impl::turn(Lock& lock, TimePoint until) {
  in_turn = true;
  lock.unlock();
  engine.turn(wake.get(), until);
  lock.lock();
  in_turn = false;
  if (woken) {
    eventfd_t ignored;
    ::eventfd_read(wake.get(), &ignored);
    woken = false;
  }
  bool any = false;
  for (Waiter* waiter : waiters)
    if (!waiter->finished && waiter->done()) any = waiter->finished = true;
  if (any) freed.notify_all();
}

// Holding the baton: pumps until done, the deadline, the next look, or somebody wants the baton.
bool Baton::Impl::lead(Lock& lock, const std::function<bool()>& done, TimePoint deadline, TimePoint look) {
  while (true) {
    if (done()) return true;
    const TimePoint now = Clock::now();
    if (now >= deadline || now >= look || wanting > 0 || stopping) return false;
    turn(lock, std::min({deadline, look, engine.next_deadline()}));
    if (done()) return true;
    return false;  // one turn at a time: the caller looks for signals between turns
  }
}

void Baton::Impl::follow(Lock& lock, Waiter& waiter, TimePoint until) {
  waiters.push_back(&waiter);
  freed.wait_until(lock, until, [&] { return waiter.finished || !held || stopping; });
  waiters.remove(&waiter);
}

void Baton::Impl::pump_for_others(Lock& lock) {
  take();
  while (!stopping && wanting == 0 && waiters.empty()) turn(lock, engine.next_deadline());
  release();
}

// Parked while somebody holds the baton for long; `grace` after the last release it pumps until asked for the baton.
void Baton::Impl::stand_by(const std::string& name) {
  name_thread(name.c_str());
  Lock lock(mutex);
  std::uint64_t seen = releases;
  auto patience = grace;
  while (!stopping) {
    if (held && releases == seen) {
      parked = true;
      standby.wait(lock, [&] { return stopping || !parked; });
      parked = false;
      patience = grace;
    }
    seen = releases;
    standby.wait_for(lock, patience, [&] { return stopping; });
    if (stopping) break;
    if (!held && releases == seen && wanting == 0) {
      pump_for_others(lock);
      seen = releases;
      patience = grace;
    } else {
      patience = releases == seen ? grace : grace * kHot;
    }
  }
}

Baton::Baton(Engine& engine, std::string thread_name, std::chrono::microseconds grace)
    : impl_(std::make_unique<Impl>(engine, grace)) {
  POUNCE_CHECK(static_cast<bool>(impl_->wake), "no descriptor left for an eventfd");
  impl_->thread = std::thread([impl = impl_.get(), name = std::move(thread_name)] { impl->stand_by(name); });
}

Baton::~Baton() {
  if (impl_->abandoned) {
    static_cast<void>(impl_.release());  // its thread and locks belong to the parent process: leaked on purpose
    return;
  }
  {
    Impl::Lock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->standby.notify_all();
    impl_->freed.notify_all();
    ::eventfd_write(impl_->wake.get(), 1);
  }
  impl_->thread.join();
}

void Baton::hold(const std::function<void()>& act) {
  if (impl_->abandoned) return;
  Impl::Lock lock(impl_->mutex);
  if (impl_->mine()) {  // from a callback inside a turn of this very thread
    lock.unlock();
    act();
    return;
  }
  impl_->acquire(lock);
  lock.unlock();
  act();
  lock.lock();
  impl_->release();
}

bool Baton::pump_until(const std::function<bool()>& done, TimePoint deadline,
                       const std::function<bool()>& interrupted) {
  if (impl_->abandoned) return false;
  Impl::Lock lock(impl_->mutex);
  POUNCE_CHECK(!impl_->mine(), "pump_until inside an engine turn");
  while (true) {
    const TimePoint look = Clock::now() + kLook;
    // Another thread leads: wait for it to finish our thing, or to stop leading. The stand-by steps aside for us.
    Waiter waiter{done};
    if (impl_->held) {
      if (impl_->in_turn && !impl_->woken && impl_->holder == impl_->thread.get_id()) {
        impl_->woken = true;
        ::eventfd_write(impl_->wake.get(), 1);
      }
      impl_->follow(lock, waiter, std::min(deadline, look));
      if (waiter.finished) return true;
    }
    if (!impl_->held) {
      impl_->take();
      const bool finished = impl_->lead(lock, done, deadline, look);
      impl_->release();
      if (finished) return true;
    }
    if (impl_->stopping || Clock::now() >= deadline) return false;
    lock.unlock();
    const bool stop = interrupted();
    lock.lock();
    if (stop) return false;
  }
}

void Baton::abandon_after_fork() { impl_->abandoned = true; }

}  // namespace pounce::transport
