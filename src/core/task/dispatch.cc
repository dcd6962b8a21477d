// From the queue to a worker's window, and back: which task goes where, what its worker says of it, and how it waits
// again.
#include <algorithm>

#include "core/task/rules.h"

namespace pounce::task {
namespace {

Worker* freest_worker(Core& core, QueueId queue, const TaskId& id, WorkerRef& place) {
  const std::optional<WorkerIndex> only_on = core.tasks.at(id).only_on;
  Worker* best = nullptr;
  // Counted only where two workers have as much room.
  std::optional<std::uint64_t> best_near;
  const auto nearness = [&](const WorkerRef& at) { return core.nearness ? core.nearness(at, id) : 0; };
  for (auto& [at, worker] : core.workers) {
    if (worker.queue != queue || worker.link != Link::kAttached || worker.window.size() >= room(core, worker)) continue;
    if (only_on && at.worker != *only_on) continue;
    if (best != nullptr && best->window.size() < worker.window.size()) continue;
    std::optional<std::uint64_t> near;
    if (best != nullptr && best->window.size() == worker.window.size()) {
      if (!best_near) best_near = nearness(place);
      near = nearness(at);
      if (*near <= *best_near) continue;
    }
    best = &worker;
    best_near = near;
    place = at;
  }
  return best;
}

void send_task(Core& core, const WorkerRef& place, Worker& worker, TaskId id) {
  Task& task = core.tasks.at(id);
  task.state = TaskState::kSent;
  task.place = place;
  if (worker.window.empty()) worker.begun = core.now;
  worker.window.push_back(id);
  ++core.queues.at(task.queue).running;
  RequestRecord& record = core.requests.at(worker.request);
  record.peak = std::max(record.peak, ++record.running);
  core.demand.changed = true;
  core.emit(SendTask{place, id, task.attempt});
}

}  // namespace

// First come, first served: each task goes to the worker with the most room, and among those to the one that has most
// of its data.
void dispatch(Core& core, QueueId id) {
  auto& waiting = core.queues.at(id).waiting;
  WorkerRef place;
  for (auto next = waiting.begin(); next != waiting.end();) {
    const TaskId task = next->second;
    Worker* worker = freest_worker(core, id, task, place);
    if (worker == nullptr && !core.tasks.at(task).only_on) return;
    if (worker == nullptr) {  // its worker is busy, which delays no other task
      ++next;
      continue;
    }
    next = waiting.erase(next);
    send_task(core, place, *worker, task);
  }
}

std::size_t room(const Core& core, const Worker& worker) {
  if (worker.ending) return 0;
  const Queue& queue = core.queues.at(worker.queue);
  return queue.workers < 2 && queue.waiting.size() >= core.settings.window ? worker.ahead : 1;
}

// ---- what its worker says of a task -------------------------------------------------------------------------------

Task* task_at(Core& core, const WorkerRef& place, Epoch epoch, TaskId id) {
  const auto found = core.tasks.find(id);
  if (found == core.tasks.end() || worker_at(core, place, epoch) == nullptr) return nullptr;
  return found->second.place == place ? &found->second : nullptr;
}

void on(Core& core, const TaskStarted& event) {
  if (Task* task = task_at(core, event.place, event.epoch, event.task)) task->state = TaskState::kRunning;
}

void on(Core& core, const QueryAnswered& event) {
  Task* task = task_at(core, event.place, event.epoch, event.task);
  if (task == nullptr) return;
  // A worker that ends may save its state for a while: a task that it refused would be sent back again and again, and
  // be lost with it in the end.
  if (event.state == RemoteTaskState::kEnding) worker_at(core, event.place, event.epoch)->ending = true;
  if (event.state == RemoteTaskState::kUnknown || event.state == RemoteTaskState::kForgotten ||
      event.state == RemoteTaskState::kEnding) {
    if (event.state != RemoteTaskState::kEnding && !task->is_queried) return;  // an old answer: it was sent again since
    const QueueId queue = task->queue;
    const bool never_arrived = event.state != RemoteTaskState::kForgotten && task->state == TaskState::kSent;
    if (never_arrived && !task->cancelling)
      wait_again(core, event.task, *task);
    else
      lose(core, event.task, error_of(ErrorCode::kLost, CauseCode::kForgotten), true);
    return dispatch(core, queue);
  }
  if (event.state == RemoteTaskState::kRunning) task->state = TaskState::kRunning;
  // The worker sends a done task's outcome again by itself.
  if (event.state != RemoteTaskState::kDone) send_cancel(core, event.task, *task);
}

// ---- back ---------------------------------------------------------------------------------------------------------

void take_from_window(Core& core, TaskId id, Task& task) {
  if (!task.place) return;
  Worker& worker = core.workers.at(*task.place);
  std::erase(worker.window, id);
  task.place.reset();
  --core.requests.at(worker.request).running;
  --core.queues.at(task.queue).running;
}

void wait_again(Core& core, TaskId id, Task& task) {
  if (task.only_if_started) return fail(core, id, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  take_from_window(core, id, task);
  task.state = TaskState::kWaiting;
  task.is_queried = false;
  core.queues.at(task.queue).waiting.emplace(task.sequence, id);
  core.demand.changed = true;
}

}  // namespace pounce::task
