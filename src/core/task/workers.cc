// Workers: granted by the daemon, attached, out of reach and back, and on their way out.
#include <utility>

#include "core/task/rules.h"

namespace pounce::task {
namespace {

void add_worker(Core& core, const Place& place, Worker worker) {
  ++core.requests.at(worker.request).workers;
  ++core.queues.at(worker.queue).workers;
  core.workers[place] = std::move(worker);
  core.demand.changed = true;
}

void attach(Core& core, const Place& place, Worker& worker) {
  worker.link = Link::kAttached;
  count_start(core, worker);
  if (std::exchange(worker.reported, false)) core.emit(TellReach{place, true});
}

}  // namespace

Worker* worker_at(Core& core, const Place& place, Epoch epoch) {
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

}  // namespace pounce::task
