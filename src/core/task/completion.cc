// How tasks end while their worker lives: with an outcome, cancelled, or failed. Every task ends, once.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/task/rules.h"

namespace pounce::task {
namespace {

void end_task(Core& core, TaskId id) {
  const auto found = core.tasks.find(id);
  POUNCE_CHECK(found != core.tasks.end(), "a task ends once");
  take_from_window(core, id, found->second);
  core.queues.at(found->second.queue).waiting.erase(found->second.sequence);
  core.tasks.erase(found);
  core.demand.changed = true;
}

// One of its tasks has come back: decides whether the next ones may be sent without waiting for each other.
void pace(Core& core, Worker& worker) {
  Queue& queue = core.queues.at(worker.queue);
  const Duration taken = core.now - worker.begun;
  if (queue.resources.is_pool()) queue.times.add(taken);
  worker.ahead = taken <= core.settings.short_task ? std::min(2 * worker.ahead, core.settings.window) : 1;
  worker.begun = core.now;
}

}  // namespace

void on(Core& core, const OutcomeArrived& event) {
  core.emit(Acknowledge{event.place, event.task});  // also a repeated one: the worker has not heard us yet
  if (task_at(core, event.place, event.epoch, event.task) == nullptr) {
    ++core.late_results;
    return;
  }
  Worker& worker = *worker_at(core, event.place, event.epoch);
  pace(core, worker);
  end_task(core, event.task);
  core.emit(Deliver{event.task});
  dispatch(core, worker.queue);
  if (worker.window.empty()) worker.ahead = 1;  // what comes next may be of another kind
}

void on(Core& core, const CancelRequested& event) {
  const auto found = core.tasks.find(event.task);
  if (found == core.tasks.end()) return;  // it has ended: nothing to cancel
  Task& task = found->second;
  if (task.state == TaskState::kWaiting)
    return fail(core, event.task, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  (event.only_if_queued ? task.only_if_started : task.cancelling) = true;
  task.grace = event.grace;
  // A worker out of reach gets the cancel after it was queried about the task (on QueryAnswered).
  if (const Link link = core.workers.at(*task.place).link; link == Link::kAttached || link == Link::kSilent)
    send_cancel(core, event.task, task);
}

void send_cancel(Core& core, TaskId id, const Task& task) {
  if (task.cancelling || (task.only_if_started && task.state != TaskState::kRunning))
    core.emit(SendCancel{*task.place, id, task.grace, !task.cancelling});
}

void on(Core& core, const TaskUnsendable& event) {
  const auto found = core.tasks.find(event.task);
  if (found == core.tasks.end()) return;
  const QueueId queue = found->second.queue;
  fail(core, event.task, event.error);
  dispatch(core, queue);
}

void on(Core& core, const ClientClosing&) {
  const Error closed = error_of(ErrorCode::kClosed, CauseCode::kClientClosed);
  core.closed = true;
  while (!core.workers.empty()) lose_worker(core, core.workers.begin()->first, closed);
  for (const auto& [queue, record] : core.queues) fail_waiting(core, queue, closed);
  core.leases.clear();
}

void fail(Core& core, TaskId id, Error error) {
  end_task(core, id);
  core.emit(Fail{id, std::move(error)});
}

void fail_waiting(Core& core, QueueId queue, const Error& error) {
  const auto waiting = core.queues.at(queue).waiting;
  for (const auto& [sequence, id] : waiting) fail(core, id, error);
}

}  // namespace pounce::task
