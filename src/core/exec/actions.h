// What the worker's engine must do after an event. Each is idempotent or happens once per task and attempt. Values.
// Thread: any.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "pounce/ids.h"
#include "pounce/task_state.h"

namespace pounce::exec {

enum class Failure : std::uint8_t { kCancelled, kInputsMissing };

struct KeepTask {  // a new task: its payload is needed until StartTask or FailTask
  TaskId task;
};
struct StartTask {  // give it to the main thread
  SessionId session;
  TaskId task;
};
struct TellStarted {  // a repeated task that runs already: its sender may have missed Started
  SessionId session;
  TaskId task;
};
struct InterruptTask {  // SIGINT to the main thread; it runs this task now
  TaskId task;
};
struct GiveUp {  // it did not stop within its grace: only the end of the interpreter ends it
  TaskId task;
};
struct FailTask {  // it will never run: make its outcome, keep it, send it
  SessionId session;
  TaskId task;
  Failure why = Failure::kCancelled;
};
struct SendOutcome {  // the kept one, for the first time or again
  SessionId session;
  TaskId task;
};
struct AnswerStates {
  SessionId session;
  std::vector<TaskId> tasks;
  std::vector<RemoteTaskState> states;
};
struct ForgetTask {  // its payload and outcome are no longer needed
  TaskId task;
};
struct TellActivity {  // queued and running tasks, after a change
  std::uint32_t running = 0;
};

using Action = std::variant<KeepTask, StartTask, TellStarted, InterruptTask, GiveUp, FailTask, SendOutcome, AnswerStates,
                            ForgetTask, TellActivity>;

}  // namespace pounce::exec
