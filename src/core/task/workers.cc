// Workers: granted by the daemon, attached, out of reach and back, on their way out; and how tasks end while their
// worker lives: with an outcome, cancelled, or failed. Every task ends, once.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/task/rules.h"

namespace pounce::task {
namespace {

void add_worker(Core& core, const WorkerRef& place, Worker worker) {
  ++core.requests.at(worker.request).workers;
  ++core.queues.at(worker.queue).workers;
  core.workers[place] = std::move(worker);
  core.demand.changed = true;
}

void attach(Core& core, const WorkerRef& place, Worker& worker) {
  worker.link = Link::kAttached;
  count_start(core, worker);
  if (std::exchange(worker.reported, false)) core.emit(TellReach{place, true});
}

}  // namespace

Worker* worker_at(Core& core, const WorkerRef& place, Epoch epoch) {
  const auto found = core.workers.find(place);
  return found == core.workers.end() || found->second.epoch != epoch ? nullptr : &found->second;
}

void on(Core& core, const WorkerGranted& event) {
  if (core.closed || !core.requests.contains(event.request)) return;
  Lease& lease = core.leases.try_emplace(event.place.lease, Lease{event.request, {}}).first->second;
  if (lease.request != event.request) return;  // a lease serves one request all its life
  core.demand.changed = true;
  // Grants come in order. A grant with another key is of another interpreter, whatever its epoch.
  if (const auto dead = lease.dead.find(event.place.worker);
      dead != lease.dead.end() && event.epoch <= dead->second.epoch && event.key == dead->second.key)
    return;  // a grant that its interpreter's death overtook
  if (const auto old = core.workers.find(event.place); old != core.workers.end()) {
    const bool later = event.epoch > old->second.epoch;
    if (!later && event.key == old->second.key) return;  // repeated after a restart of pounced: the connection stands
    lose_worker(core, event.place,
                later ? error_of(ErrorCode::kWorkerCrashed, CauseCode::kPythonStartedAnew)
                      : error_of(ErrorCode::kLost, CauseCode::kJobStartedTwice));
  }
  const QueueId queue = core.requests.at(event.request).queue;
  add_worker(
      core, event.place,
      {.request = event.request, .queue = queue, .epoch = event.epoch, .key = event.key, .silent_since = core.now});
  core.emit(Connect{event.place, event.epoch});
  dispatch(core, queue);  // tasks that the earlier interpreter lost and that may run again
}

void on(Core& core, const WorkerAttached& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr) return;
  attach(core, event.place, *worker);
  // Tasks that were under way when the connection broke may or may not have arrived: query before anything is sent
  // again. Any other task that the worker has was given up here, when we were told of the end of a lease that lives
  // on.
  for (const TaskId& id : worker->window) core.tasks.at(id).is_queried = true;
  core.emit(SendQuery{event.place, worker->window});
  dispatch(core, worker->queue);
}

void on(Core& core, const WorkerUnreachable& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr || worker->link == Link::kUnreachable) return;
  if (worker->link != Link::kSilent) worker->silent_since = core.now;
  worker->link = Link::kUnreachable;
}

// Sent tasks are still on their way: they are neither queried nor sent elsewhere, but nothing new goes there.
void on(Core& core, const WorkerSilent& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr || worker->link != Link::kAttached) return;
  worker->link = Link::kSilent;
  worker->silent_since = core.now;
}

void on(Core& core, const WorkerSeen& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr || worker->link != Link::kSilent) return;
  attach(core, event.place, *worker);
  dispatch(core, worker->queue);
}

// Tasks that it never started stay in its window until the daemon says why the worker ends: an order to end the
// worker ends them too.
void on(Core& core, const WorkerLeaving& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr) return;
  worker->ending = true;
  worker->started = event.started;
}

// ---- what the user is told of workers out of reach ----------------------------------------------------------------

TimePoint tell_reach_at(const Core& core, const Worker& worker) {
  if (worker.link == Link::kAttached || worker.reported) return TimePoint::max();
  if (worker.window.empty() && core.queues.at(worker.queue).waiting.empty()) return TimePoint::max();
  return worker.silent_since + core.settings.unreachable_after;
}

void tell_reach(Core& core) {
  for (auto& [place, worker] : core.workers) {
    if (core.now < tell_reach_at(core, worker)) continue;
    worker.reported = true;
    core.emit(TellReach{place, false});
  }
}

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
  if (event.at_limit && runs_again(core, event.task)) {
    worker.ending = true;  // its next run would meet the same end
    return dispatch(core, worker.queue);
  }
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

void fail(Core& core, TaskId id, Error error, LeaseId lost_with) {
  end_task(core, id);
  core.emit(Fail{id, std::move(error), lost_with});
}

void fail_waiting(Core& core, QueueId queue, const Error& error) {
  const auto waiting = core.queues.at(queue).waiting;
  for (const auto& [sequence, id] : waiting) fail(core, id, error);
}

}  // namespace pounce::task
