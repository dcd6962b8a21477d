// What to do: the task core's orders to the shell, carried out in the order given. An order for a place that is gone is
// dropped in silence: the core learns of the loss by its own event. Thread: the baton's holder.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/task/events.h"

namespace pounce::task {

struct Connect {  // to the endpoint and key that came with the grant
  Place place;
  Epoch epoch;
};
struct Disconnect {
  Place place;
};
struct SendTask {
  Place place;
  TaskId task;
  std::uint32_t attempt = 0;  // 0 the first time
};
struct SendCancel {
  Place place;
  TaskId task;
  std::chrono::milliseconds grace{};
};
struct SendQuery {
  Place place;
  std::vector<TaskId> tasks;
};
struct Acknowledge {  // the worker may forget it
  Place place;
  TaskId task;
};
struct Deliver {  // the outcome that has just arrived is the task's end
  TaskId task;
};
struct Fail {  // the task's end
  TaskId task;
  Error error;
};
struct TellReach {  // the person whose task is there, or waits for it, is told
  Place place;
  bool reachable = false;  // true: again
};
struct Want {
  WantId id;
  Resources resources;
  std::uint32_t waiting = 0, running = 0;
  std::vector<LeaseId> holds;
  bool operator==(const Want&) const = default;
};
struct SendDemand {  // the whole truth
  std::vector<Want> wants;
};

using Action =
    std::variant<Connect, Disconnect, SendTask, SendCancel, SendQuery, Acknowledge, Deliver, Fail, TellReach,
                 SendDemand>;

}  // namespace pounce::task
