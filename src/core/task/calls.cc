// Events that the user and the daemon cause: submit, cancel, close, grants and refusals.
#include <utility>

#include "core/task/machine.h"

namespace pounce::task {

void Machine::on(const TaskSubmitted& event) {
  if (closed_) return emit(Fail{event.task, error_of(ErrorCode::kClosed, CauseCode::kSubmittedLate)});
  if (tasks_.contains(event.task)) return;  // the same submit twice is one task
  const QueueId id = queue_for(event.resources);
  Queue& queue = queues_.at(id);
  renew_requests(queue);
  Task& task = tasks_[event.task];
  task.queue = id;
  task.sequence = next_sequence_++;
  task.retries_left = event.retries;
  task.only_on = event.worker;
  queue.waiting.emplace(task.sequence, event.task);
  demand_changed_ = true;
  dispatch(id);
}

// The first call after an end is made in spite of it: it begins a new generation.
void Machine::renew_requests(Queue& queue) {
  const bool is_new = queue.waiting.empty() && queue.running == 0;
  for (const RequestId id : queue.requests) {
    RequestRecord& record = requests_.at(id);
    if (std::exchange(record.told_end, false)) ++record.generation;
    if (is_new) record.refused = false;
  }
}

void Machine::on(const CancelRequested& event) {
  const auto found = tasks_.find(event.task);
  if (found == tasks_.end()) return;  // it has ended: nothing to cancel
  Task& task = found->second;
  if (task.state == TaskState::kWaiting)
    return fail(event.task, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  (event.only_if_queued ? task.only_if_started : task.cancelling) = true;
  task.grace = event.grace;
  // A worker out of reach gets the cancel after it was queried about the task (on QueryAnswered).
  if (const Link link = workers_.at(*task.place).link; link == Link::kAttached || link == Link::kSilent)
    send_cancel(event.task, task);
}

void Machine::send_cancel(TaskId id, const Task& task) {
  if (task.cancelling || (task.only_if_started && task.state != TaskState::kRunning))
    emit(SendCancel{*task.place, id, task.grace, !task.cancelling});
}

// The task keeps its turn: in the new request, too, it goes before the tasks that were submitted after it.
void Machine::on(const TaskMoved& event) {
  const auto found = tasks_.find(event.task);
  if (found == tasks_.end() || found->second.state != TaskState::kWaiting) return;  // ended, or has a worker
  Task& task = found->second;
  const QueueId queue = queue_for(event.resources);
  if (queue == task.queue) return;
  queues_.at(task.queue).waiting.erase(task.sequence);
  task.queue = queue;
  queues_.at(queue).waiting.emplace(task.sequence, event.task);
  demand_changed_ = true;
  dispatch(queue);
}

void Machine::on(const ClientClosing&) {
  const Error closed = error_of(ErrorCode::kClosed, CauseCode::kClientClosed);
  closed_ = true;
  while (!workers_.empty()) lose_worker(workers_.begin()->first, closed);
  for (const auto& [queue, record] : queues_) fail_waiting(queue, closed);
  leases_.clear();
}

void Machine::on(const SessionOpened&) {
  session_open_ = true;
  sent_demand_.clear();
  demand_due_ = now_;  // a daemon that has just started knows nothing
}

void Machine::on(const DaemonFailed& event) {
  session_open_ = false;
  for (const auto& [id, queue] : queues_)
    if (queue.workers == 0) fail_waiting(id, event.error);  // the others run without the daemon
}

void Machine::on(const RequestRefused& event) {
  if (!requests_.contains(event.request)) return;
  told_end(event.request);
  demand_changed_ = true;
  RequestRecord& record = requests_.at(event.request);
  const Queue& queue = queues_.at(record.queue);
  if (event.error.context.contains(kFitsApart) && !queue.resources.is_pool() && queue.workers == 0)
    return take_apart(record.queue);
  if (others_serve(event.request)) {
    record.refused = true;
    return;
  }
  fail_waiting(record.queue, event.error);
  // Later tasks are requested anew.
  for (const RequestId id : queues_.at(record.queue).requests) requests_.at(id).refused = false;
}

void Machine::on(const WorkerGranted& event) {
  if (closed_ || !requests_.contains(event.request)) return;
  Lease& lease = leases_.try_emplace(event.place.lease, Lease{event.request, {}}).first->second;
  if (lease.request != event.request) return;  // a lease serves one request all its life
  demand_changed_ = true;
  // Grants come in order. A grant with another key is of another interpreter, whatever its epoch.
  if (const auto dead = lease.dead.find(event.place.worker);
      dead != lease.dead.end() && event.epoch <= dead->second.epoch && event.key == dead->second.key)
    return;  // a grant that its interpreter's death overtook
  if (const auto old = workers_.find(event.place); old != workers_.end()) {
    const bool later = event.epoch > old->second.epoch;
    if (!later && event.key == old->second.key) return;  // repeated after a restart of pounced: the connection stands
    lose_worker(event.place, later ? error_of(ErrorCode::kWorkerCrashed, CauseCode::kPythonStartedAnew)
                                   : error_of(ErrorCode::kLost, CauseCode::kJobStartedTwice));
  }
  const QueueId queue = requests_.at(event.request).queue;
  add_worker(event.place,
             {.request = event.request, .queue = queue, .epoch = event.epoch, .key = event.key, .silent_since = now_});
  emit(Connect{event.place, event.epoch});
  dispatch(queue);  // tasks that the earlier interpreter lost and that may run again
}

void Machine::on(const TaskUnsendable& event) {
  if (tasks_.contains(event.task)) {
    const QueueId queue = tasks_.at(event.task).queue;
    fail(event.task, event.error);
    dispatch(queue);
  }
}

}  // namespace pounce::task
