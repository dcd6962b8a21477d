// What to do: the task core's orders to the client's engine, carried out in the order given. One for a place that is
// gone is dropped in silence: the core learns of the loss by its own event. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/task/events.h"
#include "pounce/request.h"

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
  bool only_if_queued = false;
};
struct SendQuery {  // about all that it still counts on there; also about nothing
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
struct TellReach {  // the user whose task is there, or waits for it, is told
  Place place;
  bool reachable = false;  // true: again
};
struct SendDemand {  // the whole truth
  std::vector<Request> requests;
};

using Action =
    std::variant<Connect, Disconnect, SendTask, SendCancel, SendQuery, Acknowledge, Deliver, Fail, TellReach,
                 SendDemand>;

}  // namespace pounce::task
