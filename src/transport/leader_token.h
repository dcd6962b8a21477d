// Leader/follower I/O (docs/decisions/0002): the thread that waits for something does the socket work itself, with
// the GIL released, so a round trip costs no hand-over between our own threads. The holder of the leader token owns
// the engine (its sockets, its core). When no thread has held the token for `grace` (a long task, an idle notebook),
// a stand-by thread takes it and pumps, so heartbeats, cancel and receipt never stop; it gives the token back on
// request.
//
// The stand-by thread is event-driven. It is parked on a condition while another thread holds the token for long.
// After a release it waits one timer of `grace` (a few graces while calls follow each other, so that no call has to
// wake it). Then it sleeps in the engine's own poll, without the leader token where the engine says what it waits for:
// the first call after a pause need not wake it. It never takes the GIL. Thread: any.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace pounce::transport {

// The leader token guards this. Only the holder calls these functions.
class Engine {
 public:
  virtual ~Engine() = default;
  // Waits for its sockets, `wake_fd` or `until`, whichever is first, and handles everything that is ready.
  virtual void turn(int wake_fd, TimePoint until) = 0;
  virtual TimePoint next_deadline() const = 0;
  // What a turn would wait for now, for a thread that sleeps meanwhile without the leader token. nullopt: only a turn
  // can wait for it.
  virtual std::optional<std::vector<pollfd>> waited_for() { return std::nullopt; }
};

class LeaderToken {
 public:
  static constexpr std::chrono::milliseconds kLook{200};

  LeaderToken(Engine& engine, std::string thread_name,
              std::chrono::microseconds grace = std::chrono::microseconds(500));
  ~LeaderToken();  // ends the waits of other threads, waits until none is inside, and stops the stand-by thread

  // Runs `act` while holding the leader token. Waits for the holds of others and at most one engine turn (a turning
  // holder is woken). Inside a turn or an act of the same thread it runs at once.
  void hold(const std::function<void()>& act);
  // The same if that takes moments only. False: another thread has the leader token, or the engine's turn is due, and
  // `act` did not run.
  bool hold_at_once(const std::function<void()>& act);

  // Pumps the engine, or waits while another thread does, until done() or `deadline`; true if done(). Not inside a
  // turn. The turning thread calls done(), once at least, while holding the leader token, never again once it returned
  // true; done() must not use the leader token. interrupted() is called without the leader token after each turn, which
  // a signal ends, and at least once in `look`; when it returns true, pump_until returns at once.
  bool pump_until(const std::function<bool()>& done, TimePoint deadline, const std::function<bool()>& interrupted,
                  Duration look = kLook);

  // In a forked child (pthread_atfork) the stand-by thread is gone and the engine is the parent's. Every later call
  // does nothing and returns false; the destructor joins and closes nothing.
  void abandon_after_fork();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::transport
