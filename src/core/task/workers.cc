// Events that workers cause: attached and out of reach, started, done, and their answers to a query.
#include "core/task/machine.h"

namespace pounce::task {

void Machine::on(const WorkerAttached& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr) return;
  worker->link = Link::kAttached;
  // What was under way when the connection broke may have arrived, or not: ask before anything is sent again.
  if (!worker->window.empty()) emit(SendQuery{event.place, worker->window});
  dispatch(worker->want);
}

void Machine::on(const WorkerUnreachable& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr || worker->link == Link::kUnreachable) return;
  worker->link = Link::kUnreachable;
  worker->silent_since = now_;
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
  const WantId want = task->want;
  end(event.task);
  emit(Deliver{event.task});
  dispatch(want);
}

void Machine::on(const QueryAnswered& event) {
  Task* task = task_at(event.place, event.epoch, event.task);
  if (task == nullptr) return;
  if (event.state == Known::kUnknown) {
    const WantId want = task->want;
    if (task->state == TaskState::kSent && !task->cancelling)
      wait_again(event.task, *task);  // it never arrived
    else
      lose(event.task, {ErrorCode::kLost, "The task may have executed: its worker has forgotten it.", {}, {}}, true);
    return dispatch(want);
  }
  if (event.state == Known::kRunning) task->state = TaskState::kRunning;
  // A done one's outcome is sent again by itself.
  if (task->cancelling && event.state != Known::kDone) emit(SendCancel{event.place, event.task});
}

}  // namespace pounce::task
