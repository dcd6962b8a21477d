// What must hold after each event (I4 and I5 as far as one client can see them).
#include <algorithm>

#include "base/check.h"
#include "core/task/machine.h"

namespace pounce::task {

void Machine::check_invariants() const {
  std::size_t waiting = 0, sent = 0;
  for (const auto& [request, record] : requests_) {
    std::uint32_t running = 0;
    for (const auto& [sequence, id] : record.waiting) {
      const auto task = tasks_.find(id);
      POUNCE_CHECK(task != tasks_.end() && task->second.request == request, "what waits is a task of this request");
      POUNCE_CHECK(task->second.state == TaskState::kWaiting && !task->second.place, "what waits is nowhere");
      POUNCE_CHECK(!task->second.cancelling && !task->second.only_if_started, "what waits is cancelled at once");
    }
    for (const auto& [place, worker] : workers_)
      if (worker.request == request) running += static_cast<std::uint32_t>(worker.window.size());
    POUNCE_CHECK(running == record.running, "a request's running tasks are those in its workers' windows");
    waiting += record.waiting.size();
    sent += running;
  }
  for (const auto& [place, worker] : workers_) {
    POUNCE_CHECK(leases_.contains(place.lease), "a worker is of a lease that is held");
    POUNCE_CHECK(worker.window.size() <= settings_.window, "a window is never overfull");
    for (const TaskId id : worker.window) {
      const auto task = tasks_.find(id);
      POUNCE_CHECK(task != tasks_.end() && task->second.place == place, "a task is in one window");
      POUNCE_CHECK(task->second.state != TaskState::kWaiting, "what was sent does not wait");
    }
  }
  POUNCE_CHECK(waiting + sent == tasks_.size(), "each task waits or is in a window");
  // Work that could run does: nothing waits beside a free worker.
  for (const auto& [place, worker] : workers_)
    POUNCE_CHECK(worker.link != Link::kAttached || worker.window.size() >= room(worker) ||
                     requests_.at(worker.request).waiting.empty(),
                 "nothing waits beside a free worker");
}

}  // namespace pounce::task
