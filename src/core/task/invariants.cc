// What must hold after each event (I4 and I5 as far as one client can see them).
#include <algorithm>

#include "base/check.h"
#include "core/task/machine.h"

namespace pounce::task {

void Machine::check_invariants() const {
  std::size_t waiting = 0, sent = 0;
  for (const auto& [id, queue] : queues_) {
    for (const auto& [sequence, waits] : queue.waiting) {
      const auto task = tasks_.find(waits);
      POUNCE_CHECK(task != tasks_.end() && task->second.queue == id, "what waits is a task of this queue");
      POUNCE_CHECK(task->second.state == TaskState::kWaiting && !task->second.place, "what waits is nowhere");
      POUNCE_CHECK(!task->second.cancelling && !task->second.only_if_started, "what waits is cancelled at once");
    }
    std::uint32_t running = 0;
    for (const RequestId request : queue.requests) running += requests_.at(request).running;
    POUNCE_CHECK(running == queue.running, "a queue's running tasks are those of its requests");
    const auto wanted = std::ranges::count_if(queue.requests, [this](RequestId request) { return requests_.at(request).wanted; });
    POUNCE_CHECK(static_cast<std::uint32_t>(wanted) == queue.wanted, "a queue's wanted requests are counted");
    POUNCE_CHECK(!queue.resources.is_pool() || demand_changed_ || wanted <= queue.resources.leases_most, "a pool wants no more leases than it may have");
    waiting += queue.waiting.size();
  }
  for (const auto& [request, record] : requests_) {
    std::uint32_t running = 0, workers = 0;
    for (const auto& [place, worker] : workers_) {
      if (worker.request != request) continue;
      running += static_cast<std::uint32_t>(worker.window.size());
      ++workers;
    }
    POUNCE_CHECK(running == record.running, "a request's running tasks are those in its workers' windows");
    POUNCE_CHECK(workers == record.workers, "a request's workers are counted");
    sent += running;
  }
  for (const auto& [place, worker] : workers_) {
    POUNCE_CHECK(leases_.contains(place.lease), "a worker is of a lease that is held");
    POUNCE_CHECK(worker.window.size() <= settings_.window, "a window is never overfull");
    for (const TaskId id : worker.window) {
      const auto task = tasks_.find(id);
      POUNCE_CHECK(task != tasks_.end() && task->second.place == place, "a task is in one window");
      POUNCE_CHECK(task->second.state != TaskState::kWaiting, "what was sent does not wait");
      POUNCE_CHECK(task->second.only_on.value_or(place.worker) == place.worker, "a rank's task is at its worker");
    }
  }
  POUNCE_CHECK(waiting + sent == tasks_.size(), "each task waits or is in a window");
  // Work that could run does: nothing waits beside a free worker.
  for (const auto& [place, worker] : workers_) {
    if (worker.link != Link::kAttached || worker.window.size() >= room(worker)) continue;
    for (const auto& [sequence, id] : queues_.at(worker.queue).waiting) {
      const auto& only_on = tasks_.at(id).only_on;
      POUNCE_CHECK(only_on && *only_on != place.worker, "nothing waits beside a free worker");
    }
  }
}

}  // namespace pounce::task
