// What can happen to a worker's tasks. The engine (src/worker/interpreter) makes these from messages and from what
// the main thread does. Payloads stay in the engine, keyed by task id: the core sees names only. Values. Thread: any.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "pounce/ids.h"

namespace pounce::exec {

struct TaskArrived {
  SessionId session;
  TaskId task;
  std::uint32_t attempt = 0;
  bool inputs_here = true;  // its function and all its objects are whole on this worker
};
struct RunnerReady {};  // the main thread waits for work
struct RunnerAway {};   // it does something of its own now: what arrives is queued
struct RunEnded {       // the function returned, raised or was interrupted; the engine keeps its outcome
  TaskId task;
};
struct OutcomesAcknowledged {
  SessionId session;
  std::vector<TaskId> tasks;
};
struct StatesRequested {
  SessionId session;
  std::vector<TaskId> tasks;
  bool no_others = false;  // the session counts on no other task here: they are given up
};
struct CancelRequested {
  SessionId session;
  TaskId task;
  Duration grace{};  // from its interrupt until the interpreter is given up
  bool only_if_queued = false;
};
struct SessionDismissed {
  SessionId session;
};
struct TimePassed {};  // at next_deadline(), or at any time

using Event = std::variant<TaskArrived, RunnerReady, RunnerAway, RunEnded, OutcomesAcknowledged, StatesRequested, CancelRequested,
                           SessionDismissed, TimePassed>;

}  // namespace pounce::exec
