// The task core's orders to the client's engine, carried out in the order given. An order for a place that is gone is
// dropped silently: the core learns of the loss by an event of its own. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/task/events.h"
#include "model/task.h"

namespace pounce::task {

struct Connect {  // to the endpoint and key that came with the grant
  WorkerRef place;
  Epoch epoch;
};
struct Disconnect {
  WorkerRef place;
};
struct SendTask {
  WorkerRef place;
  TaskId task;
  std::uint32_t attempt = 0;  // 0 the first time
};
struct SendCancel {
  WorkerRef place;
  TaskId task;
  std::chrono::milliseconds grace{};
  bool only_if_queued = false;
};
struct SendQuery {  // about all tasks that it still counts on there, which may be none
  WorkerRef place;
  std::vector<TaskId> tasks;
};
struct Acknowledge {  // the worker may forget it
  WorkerRef place;
  TaskId task;
};
struct Deliver {  // the outcome that has just arrived is the task's end
  TaskId task;
};
struct Fail {  // the task's end
  TaskId task;
  Error error;
  LeaseId lease{};  // where it was lost; unset: it was not lost with its worker
};
struct TellReach {  // tell the user whose task is there or waits for it
  WorkerRef place;
  bool reachable = false;  // true: again
};
struct SendDemand {  // all of it each time
  std::vector<Request> requests;
};

using Action = std::variant<Connect, Disconnect, SendTask, SendCancel, SendQuery, Acknowledge, Deliver, Fail, TellReach,
                            SendDemand>;

}  // namespace pounce::task
