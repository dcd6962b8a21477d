// What the Python binding uses: one client, callable from any thread. Each call takes the leader token for a moment;
// wait() pumps the engine itself. After a fork the child's copy answers kForked and touches nothing of the parent's.
// Thread: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "client/calls.h"
#include "client/engine.h"
#include "pounce/error.h"

namespace pounce::client {

class Client {
 public:
  explicit Client(Setup setup);
  ~Client();  // closes

  // What act(engine) returns. It runs alone with the engine, and waits for a turn that is under way. kForked, kClosed:
  // it did not run, since the client cannot be used.
  template <class Act>
  auto with_engine(Act act);

  // The same if that takes moments only; nothing: another thread is with the engine, or its turn is due, and `act` did
  // not run.
  template <class Act>
  auto with_engine_at_once(Act act) -> std::optional<std::invoke_result_t<Act, Engine&>>;

  // Blocks until there are events, the task has ended (for other threads may have taken its events), `deadline`, or
  // interrupted() says so, which is called after signals and several times a second. A thread to which it returned
  // without an error takes the events by drain_waited(): until then no other thread is woken for them.
  Result<void> wait(const TaskId& task, TimePoint deadline, const std::function<bool()>& interrupted);
  std::vector<Event> drain_waited();
  std::vector<Event> drain();
  bool wait_for_events();  // for the notifier thread; false: closed

  void close();  // ends every task, tells pounced, waits at most a moment for it

 private:
  struct Parts;
  std::optional<Error> unusable() const;
  Result<void> hold(const std::function<void(Engine&)>& act);
  bool hold_at_once(const std::function<void(Engine&)>& act);
  std::unique_ptr<Parts> parts_;
};

template <class Act>
auto Client::with_engine_at_once(Act act) -> std::optional<std::invoke_result_t<Act, Engine&>> {
  std::optional<std::invoke_result_t<Act, Engine&>> answer;
  hold_at_once([&](Engine& engine) { answer = act(engine); });
  return answer;
}

template <class Act>
auto Client::with_engine(Act act) {
  using Answer = std::invoke_result_t<Act, Engine&>;
  if constexpr (std::is_void_v<Answer>) {
    return hold(act);
  } else {
    std::optional<Answer> answer;
    const Result<void> held = hold([&](Engine& engine) { answer = act(engine); });
    using Returned = std::conditional_t<std::is_same_v<Answer, Result<void>>, Answer, Result<Answer>>;
    return held ? Returned(*std::move(answer)) : Returned(failure(held.error()));
  }
}

// Which environment variables of this process its workers have too: the one list, for clients in C++ and in Python.
// Never all of the environment, since anything secret may be in it. Pure.
bool travels(std::string_view name);

// The ones among those of an environment, in the form that environment_of() takes.
Environment travelling(const char* const* environment);

}  // namespace pounce::client
