// Events that workers cause: attached and out of reach, started, done, and their answers to a query.
#include <utility>

#include "core/task/machine.h"

namespace pounce::task {

void Machine::on(const WorkerAttached& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr) return;
  attached(event.place, *worker);
  // Tasks that were under way when the connection broke may or may not have arrived: query before anything is sent
  // again. Any other task that the worker has was given up here, when we were told of the end of a lease that lives
  // on.
  for (const TaskId& id : worker->window) tasks_.at(id).is_queried = true;
  emit(SendQuery{event.place, worker->window});
  dispatch(worker->queue);
}

void Machine::on(const WorkerUnreachable& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr || worker->link == Link::kUnreachable) return;
  if (worker->link != Link::kSilent) worker->silent_since = now_;
  worker->link = Link::kUnreachable;
}

// Sent tasks are still on their way: they are neither queried nor sent elsewhere, but nothing new goes there.
void Machine::on(const WorkerSilent& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr || worker->link != Link::kAttached) return;
  worker->link = Link::kSilent;
  worker->silent_since = now_;
}

void Machine::on(const WorkerSeen& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr || worker->link != Link::kSilent) return;
  attached(event.place, *worker);
  dispatch(worker->queue);
}

void Machine::attached(const Place& place, Worker& worker) {
  worker.link = Link::kAttached;
  count_start(worker);
  if (std::exchange(worker.reported, false)) emit(TellReach{place, true});
}

// When to tell the user that this worker cannot be reached; max: they know, or none of their tasks depends on it.
TimePoint Machine::tell_reach_at(const Worker& worker) const {
  if (worker.link == Link::kAttached || worker.reported) return TimePoint::max();
  if (worker.window.empty() && queues_.at(worker.queue).waiting.empty()) return TimePoint::max();
  return worker.silent_since + settings_.unreachable_after;
}

void Machine::tell_reach() {
  for (auto& [place, worker] : workers_) {
    if (now_ < tell_reach_at(worker)) continue;
    worker.reported = true;
    emit(TellReach{place, false});
  }
}

// Tasks that it never started stay in its window until the daemon says why the worker ends: an order to end the
// worker ends them too.
void Machine::on(const WorkerLeaving& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr) return;
  worker->ending = true;
  worker->started = event.started;
}

void Machine::on(const TaskStarted& event) {
  if (Task* task = task_at(event.place, event.epoch, event.task)) task->state = TaskState::kRunning;
}

void Machine::on(const OutcomeArrived& event) {
  emit(Acknowledge{event.place, event.task});  // also a repeated one: the worker has not heard us yet
  Task* task = task_at(event.place, event.epoch, event.task);
  if (task == nullptr) {
    ++late_results_;
    return;
  }
  Worker& worker = *worker_at(event.place, event.epoch);
  pace(worker);
  end(event.task);
  emit(Deliver{event.task});
  dispatch(worker.queue);
  if (worker.window.empty()) worker.ahead = 1;  // what comes next may be of another kind
}

void Machine::on(const QueryAnswered& event) {
  Task* task = task_at(event.place, event.epoch, event.task);
  if (task == nullptr) return;
  // A worker that ends may save its state for a while: a task that it refused would be sent back again and again, and
  // be lost with it in the end.
  if (event.state == RemoteTaskState::kEnding) worker_at(event.place, event.epoch)->ending = true;
  if (event.state == RemoteTaskState::kUnknown || event.state == RemoteTaskState::kForgotten ||
      event.state == RemoteTaskState::kEnding) {
    if (event.state != RemoteTaskState::kEnding && !task->is_queried) return;  // an old answer: it was sent again since
    const QueueId queue = task->queue;
    const bool never_arrived = event.state != RemoteTaskState::kForgotten && task->state == TaskState::kSent;
    if (never_arrived && !task->cancelling)
      wait_again(event.task, *task);
    else
      lose(event.task, error_of(ErrorCode::kLost, Cause{CauseCode::kForgotten}, {{"lease", event.place.lease.hex()}}),
           true);
    return dispatch(queue);
  }
  if (event.state == RemoteTaskState::kRunning) task->state = TaskState::kRunning;
  // The worker sends a done task's outcome again by itself.
  if (event.state != RemoteTaskState::kDone) send_cancel(event.task, *task);
}

}  // namespace pounce::task
