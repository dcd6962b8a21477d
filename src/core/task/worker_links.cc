// Events that workers cause: attached and out of reach, started, done, and their answers to a query.
#include <utility>

#include "core/task/machine.h"

namespace pounce::task {

void Machine::on(const WorkerAttached& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr) return;
  attached(event.place, *worker);
  // What was under way when the connection broke may have arrived, or not: ask before anything is sent again.
  // What it has beyond that was given up here, with a lease whose end we were told of and that lives on.
  for (const TaskId& id : worker->window) tasks_.at(id).asked = true;
  emit(SendQuery{event.place, worker->window});
  dispatch(worker->queue);
}

void Machine::on(const WorkerUnreachable& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr || worker->link == Link::kUnreachable) return;
  if (worker->link != Link::kSilent) worker->silent_since = now_;
  worker->link = Link::kUnreachable;
}

// What was sent is still on its way: it is neither asked about nor sent elsewhere, but nothing new goes there.
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

// When the user shall hear that this worker cannot be reached; max: they know, or nothing of theirs depends on it.
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

// What it never started stays in its window until the daemon says why it ends: an order to end it is one to end them too.
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
  // It may be saving for a while: a task that it refused would come back again and again, and be lost with it in the end.
  if (event.state == RemoteTaskState::kEnding) worker_at(event.place, event.epoch)->ending = true;
  if (event.state == RemoteTaskState::kUnknown || event.state == RemoteTaskState::kForgotten || event.state == RemoteTaskState::kEnding) {
    if (event.state != RemoteTaskState::kEnding && !task->asked) return;  // said twice: it was sent again since
    const QueueId queue = task->queue;
    const bool never_arrived = event.state != RemoteTaskState::kForgotten && task->state == TaskState::kSent;
    if (never_arrived && !task->cancelling)
      wait_again(event.task, *task);
    else
      lose(event.task, error_of(ErrorCode::kLost, Cause{CauseCode::kForgotten}, {{"lease", event.place.lease.hex()}}), true);
    return dispatch(queue);
  }
  if (event.state == RemoteTaskState::kRunning) task->state = TaskState::kRunning;
  // A done one's outcome is sent again by itself.
  if (event.state != RemoteTaskState::kDone) send_cancel(event.task, *task);
}

}  // namespace pounce::task
