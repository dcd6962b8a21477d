// How the leader token passes. Threads have three ranks. hold() is short and goes first. Of the threads in pump_until
// one leads (turns the engine) and the others follow. The stand-by thread steps in only when no other thread turns.
// Two rules prevent starvation: a turning thread is woken and lets go when a thread of higher rank waits, and after
// kHoldsPerTurn holds in a row a waiting leader gets its turn. When calls follow each other and no thread waits,
// every kHoldsAlone-th call turns the engine without waiting, so answers come in while the next requests go out.
#include "transport/leader_token.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/threads.h"
#include "base/unique_fd.h"

namespace pounce::transport {
namespace {

// Graces between checks of the stand-by while calls follow each other, to avoid a wake per call
constexpr int kHot = 4;
constexpr int kHoldsPerTurn = 64;
// With no thread waiting for a turn, a hold turns after this many, to handle what came in
constexpr int kHoldsAlone = 16;
constexpr Duration kLongest = std::chrono::hours(24);  // that the stand-by sleeps at once

struct Waiter {  // a thread in pump_until
  const std::function<bool()>& done;
  const TimePoint deadline;
  const Duration look;                                  // between two checks for signals
  bool asked = false, finished = false, leads = false;  // asked: done() was called
  std::condition_variable signal;  // signals: finished, become the leader, or take the leader token for a turn
};

template <class Act>
class AtExit {  // runs even when the act throws: an unreleased leader token stops everything
 public:
  explicit AtExit(Act act) : act_(std::move(act)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { act_(); }

 private:
  Act act_;
};

// Signals belong to the program's threads, where Python handles them.
void take_no_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

struct LeaderToken::Impl {
  Impl(Engine& engine, std::chrono::microseconds grace)
      : engine(engine),
        grace(grace),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        wake_asleep(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  using Lock = std::unique_lock<std::mutex>;

  bool mine() const { return held && holder == std::this_thread::get_id(); }
  bool leader_first() const { return leader_waiting != nullptr && holds >= kHoldsPerTurn; }
  void take();
  void release();
  void wake_holder();
  void take_to_hold(Lock& lock);
  void run(Lock& lock, const std::function<void()>& act);
  void take_to_turn(Lock& lock, Waiter& leader);
  void check_waiters();
  void turn(Lock& lock, TimePoint until);
  bool turn_is_due() const { return holds >= kHoldsAlone && !leading && wanting == 0 && !stopping; }

  bool pump(Lock& lock, Waiter& me, const std::function<bool()>& interrupted);
  bool follow(Lock& lock, Waiter& me);
  bool lead(Lock& lock, Waiter& me, const std::function<bool()>& interrupted);
  void leave(Waiter& me);
  void end();
  void gone() {
    if (--inside == 0 && stopping) empty.notify_all();
  }

  void stand_by();
  void park(Lock& lock);
  void pump_for_others(Lock& lock);
  bool sleep(Lock& lock, std::vector<pollfd> waited_for, TimePoint until);
  void wake_sleeper();

  Engine& engine;
  const std::chrono::microseconds grace;
  const UniqueFd wake, wake_asleep;
  std::atomic<bool> abandoned = false;

  std::mutex mutex;                 // guards everything below; never held during a turn or an act
  std::condition_variable freed;    // for threads in hold()
  std::condition_variable standby;  // for the stand-by thread alone
  std::condition_variable empty;    // for the destructor
  bool held = false, in_turn = false, woken = false, parked = false, stopping = false;
  bool asleep = false;  // the stand-by thread sleeps without the leader token, and was not woken
  std::thread::id holder;
  int inside = 0;                    // threads in hold() and pump_until()
  int wanting = 0;                   // threads in hold() that wait
  int holds = 0;                     // since the last turn
  bool leading = false;              // there is a leader, even while it checks for signals without the token
  bool check_due = false;            // a waiter came, or a hold changed something: call their done()
  Waiter* leader_waiting = nullptr;  // the leader, while it waits for the leader token
  std::list<Waiter*> waiters;        // includes the leader
  std::uint64_t releases = 0, turns = 0;
  std::thread thread;  // last: starts after all other members exist
};

void LeaderToken::Impl::take() {
  held = true;
  holder = std::this_thread::get_id();
}

void LeaderToken::Impl::release() {
  held = false;
  ++releases;
  if (wanting > 0 && !leader_first())
    freed.notify_one();
  else if (leader_waiting != nullptr)
    leader_waiting->signal.notify_one();
  if (parked) {
    parked = false;
    standby.notify_one();
  }
  wake_sleeper();  // what it waits for may have changed
}

void LeaderToken::Impl::wake_sleeper() {
  if (std::exchange(asleep, false)) ::eventfd_write(wake_asleep.get(), 1);
}

void LeaderToken::Impl::wake_holder() {
  if (!in_turn || woken) return;
  woken = true;
  ::eventfd_write(wake.get(), 1);
}

void LeaderToken::Impl::take_to_hold(Lock& lock) {
  ++wanting;
  while (held || leader_first()) {
    wake_holder();
    freed.wait(lock);
  }
  --wanting;
  ++holds;
  take();
}

void LeaderToken::Impl::take_to_turn(Lock& lock, Waiter& leader) {
  leader_waiting = &leader;
  while (held || (wanting > 0 && !leader_first())) {
    wake_holder();  // the stand-by thread; a thread in hold() is not in a turn
    leader.signal.wait(lock);
  }
  leader_waiting = nullptr;
  wake_sleeper();  // or what comes for this thread wakes both
  take();
}

void LeaderToken::Impl::run(Lock& lock, const std::function<void()>& act) {
  const AtExit give_back([&] {
    if (!lock.owns_lock()) lock.lock();  // act() threw
    check_due = true;
    release();
  });
  lock.unlock();
  act();
  lock.lock();
  if (turn_is_due()) turn(lock, TimePoint());
}

// Called with the leader token, between turns.
void LeaderToken::Impl::check_waiters() {
  check_due = false;
  for (Waiter* waiter : waiters) {
    if (waiter->finished) continue;
    waiter->finished = waiter->done();
    const bool was_late = !std::exchange(waiter->asked, true) && Clock::now() >= waiter->deadline;
    if (waiter->finished || was_late) waiter->signal.notify_one();
  }
}

// Runs one engine turn without the mutex, then checks the waiters.
void LeaderToken::Impl::turn(Lock& lock, TimePoint until) {
  holds = 0;
  ++turns;
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
  check_waiters();
}

// ---- threads in pump_until ---------------------------------------------------------------------------------------

bool LeaderToken::Impl::pump(Lock& lock, Waiter& me, const std::function<bool()>& interrupted) {
  if (leading) wake_holder();  // our result may have come in an earlier turn: the leader must check us
  while (leading) {
    if (follow(lock, me)) return me.finished;
    if (!leading) break;
    lock.unlock();
    const bool stop = interrupted();
    lock.lock();
    if (me.finished || stop) return me.finished;
  }
  leading = me.leads = true;
  return lead(lock, me, interrupted);
}

// Waits while another thread leads. True: this wait is over. However late it is, the leader calls done() once first:
// a caller that tries again would else try for ever.
bool LeaderToken::Impl::follow(Lock& lock, Waiter& me) {
  const auto late = [&] { return me.asked && Clock::now() >= me.deadline; };
  const TimePoint look = Clock::now() + me.look;
  me.signal.wait_until(lock, me.asked ? std::min(me.deadline, look) : look,
                       [&] { return me.finished || !leading || stopping || late(); });
  return me.finished || stopping || late();
}

bool LeaderToken::Impl::lead(Lock& lock, Waiter& me, const std::function<bool()>& interrupted) {
  while (!stopping) {
    take_to_turn(lock, me);
    if (check_due) check_waiters();
    const TimePoint now = Clock::now();
    const bool over = me.finished || now >= me.deadline || stopping;
    // A thread in hold() waits here only when this turn has precedence: then handle only what is ready.
    if (!over) turn(lock, wanting > 0 ? now : std::min({me.deadline, now + me.look, engine.next_deadline()}));
    release();
    if (over || me.finished) return me.finished;
    lock.unlock();
    const bool stop = interrupted();
    lock.lock();
    if (stop) return me.finished;
  }
  return me.finished;
}

// Makes a remaining waiter the leader: when the leader goes, or a follower that was chosen gave up.
void LeaderToken::Impl::leave(Waiter& me) {
  waiters.remove(&me);
  if (me.leads) leading = false;
  if (leading) return;
  const auto next =
      std::find_if(waiters.begin(), waiters.end(), [](const Waiter* waiter) { return !waiter->finished; });
  if (next != waiters.end()) (*next)->signal.notify_one();
}

// Waits until no thread is inside: the memory goes with the destructor.
void LeaderToken::Impl::end() {
  Lock lock(mutex);
  stopping = true;
  standby.notify_all();
  for (Waiter* waiter : waiters) waiter->signal.notify_one();
  wake_holder();
  wake_sleeper();
  empty.wait(lock, [this] { return inside == 0; });
}

// ---- the stand-by thread -----------------------------------------------------------------------------------------

void LeaderToken::Impl::stand_by() {
  Lock lock(mutex);
  std::uint64_t seen_releases = releases, seen_turns = turns;
  auto patience = grace;
  while (!stopping) {
    standby.wait_for(lock, patience, [&] { return stopping; });
    if (stopping) return;
    const bool calm = releases == seen_releases;
    patience = calm ? grace : grace * kHot;
    if (held && calm)
      park(lock);
    else if (!held && wanting == 0 && leader_waiting == nullptr && calm)
      pump_for_others(lock);
    else if (!held && wanting == 0 && leader_waiting == nullptr && turns == seen_turns) {
      take();  // many holds in a row and no turn: turn once, without waiting
      turn(lock, TimePoint());
      release();
    }
    seen_releases = releases;
    seen_turns = turns;
  }
}

void LeaderToken::Impl::park(Lock& lock) {
  parked = true;
  standby.wait(lock, [&] { return stopping || !parked; });
  parked = false;
}

void LeaderToken::Impl::pump_for_others(Lock& lock) {
  take();
  while (!stopping && wanting == 0 && leader_waiting == nullptr) {
    if (check_due) check_waiters();  // for a leader that checks signals for long
    auto waited_for = engine.waited_for();
    if (waited_for && !sleep(lock, *std::move(waited_for), engine.next_deadline())) return;
    turn(lock, waited_for ? TimePoint() : engine.next_deadline());
  }
  release();
}

// Sleeps without the leader token: a thread that comes for a hold after a pause would else wait until this one has
// woken. True: something came or is due, and the leader token is with this thread again. False: another thread has had
// it meanwhile, and this one does not have it.
bool LeaderToken::Impl::sleep(Lock& lock, std::vector<pollfd> waited_for, TimePoint until) {
  waited_for.push_back({wake_asleep.get(), POLLIN, 0});
  release();
  const std::uint64_t seen = releases;
  asleep = true;
  lock.unlock();
  const auto left = std::clamp<std::int64_t>((until - Clock::now()).count(), 0, kLongest.count());
  const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
  ::ppoll(waited_for.data(), waited_for.size(), &limit, nullptr);
  lock.lock();
  const bool woken_here = !std::exchange(asleep, false);
  eventfd_t ignored;
  if (woken_here) ::eventfd_read(wake_asleep.get(), &ignored);
  if (woken_here || stopping || held || wanting > 0 || leader_waiting != nullptr || releases != seen) return false;
  take();
  return true;
}

// ---- the public side ---------------------------------------------------------------------------------------------

LeaderToken::LeaderToken(Engine& engine, std::string thread_name, std::chrono::microseconds grace)
    : impl_(std::make_unique<Impl>(engine, grace)) {
  POUNCE_CHECK(impl_->wake && impl_->wake_asleep, "no descriptor left for an eventfd");
  impl_->thread = std::thread([impl = impl_.get(), name = std::move(thread_name)] {
    name_thread(name.c_str());
    take_no_signals();
    impl->stand_by();
  });
}

LeaderToken::~LeaderToken() {
  if (impl_->abandoned) {
    static_cast<void>(impl_.release());  // the thread and locks belong to the parent process: leak on purpose
    return;
  }
  impl_->end();
  impl_->thread.join();
}

void LeaderToken::hold(const std::function<void()>& act) {
  if (impl_->abandoned) return;
  Impl::Lock lock(impl_->mutex);
  ++impl_->inside;
  const AtExit gone([&] {
    if (!lock.owns_lock()) lock.lock();
    impl_->gone();
  });
  if (impl_->mine()) {  // inside a turn or an act of this thread
    lock.unlock();
    return act();
  }
  impl_->take_to_hold(lock);
  impl_->run(lock, act);
}

bool LeaderToken::hold_at_once(const std::function<void()>& act) {
  if (impl_->abandoned) return false;
  Impl::Lock lock(impl_->mutex);
  if (impl_->held || impl_->leader_first() || impl_->holds + 1 >= kHoldsAlone) return false;
  ++impl_->inside;
  const AtExit gone([&] {
    if (!lock.owns_lock()) lock.lock();
    impl_->gone();
  });
  impl_->take_to_hold(lock);
  impl_->run(lock, act);
  return true;
}

bool LeaderToken::pump_until(const std::function<bool()>& done, TimePoint deadline,
                             const std::function<bool()>& interrupted, Duration look) {
  if (impl_->abandoned) return false;
  Impl::Lock lock(impl_->mutex);
  POUNCE_CHECK(!impl_->mine(), "pump_until inside an engine turn or an act");
  Waiter me{done, deadline, look, false, false, false, {}};
  ++impl_->inside;
  impl_->waiters.push_back(&me);
  impl_->check_due = true;
  const AtExit leave([&] {
    if (!lock.owns_lock()) lock.lock();  // interrupted() threw
    impl_->leave(me);
    impl_->gone();
  });
  return impl_->pump(lock, me, interrupted);
}

void LeaderToken::abandon_after_fork() { impl_->abandoned = true; }

}  // namespace pounce::transport
