// How tasks end when their worker is lost: with the reason of the loss, by another run if the user allowed it, or as
// cancelled if a cancel was under way.
#include <algorithm>

#include "core/task/rules.h"

namespace pounce::task {
namespace {

// The job was ended on purpose: running its tasks again would undo that.
bool is_an_order(ErrorCode code) { return code == ErrorCode::kJobCancelled || code == ErrorCode::kClosed; }

// Then the tasks that never started end too, though they could run elsewhere.
bool is_meant_for_tasks(const Error& reason) {
  return is_an_order(reason.code) || reason.cause.code == CauseCode::kReleased;
}

Error may_have_executed(const Error& reason) {
  return error_of(ErrorCode::kLost, {.code = CauseCode::kMayHaveRun, .because = {cause_of(reason)}}, reason.context);
}

void lose_window(Core& core, Worker& worker, const Error& reason, const Started& started) {
  const auto window = worker.window;
  const Started& known = started || is_meant_for_tasks(reason) ? started : worker.started;
  // Workers run their window in order: only its first task can be what took the worker down.
  for (std::size_t i = 0; i < window.size(); ++i) {
    Task& task = core.tasks.at(window[i]);
    const bool never_started = known && std::ranges::find(*known, window[i]) == known->end();
    if (never_started && !task.cancelling && task.state != TaskState::kRunning)
      wait_again(core, window[i], task);
    else
      lose(core, window[i], reason, i == 0);
  }
}

}  // namespace

void on(Core& core, const WorkerDied& event) {
  const auto lease = core.leases.find(event.place.lease);
  if (lease == core.leases.end()) return;  // of a lease that ended: its tasks have been answered
  const Worker* worker = worker_at(core, event.place, event.epoch);
  const bool nameless = event.key == PublicKey{};
  if (worker != nullptr && !nameless && worker->key != event.key) return;  // another run of the job died
  Dead& dead = lease->second.dead[event.place.worker];
  const PublicKey key = worker != nullptr ? worker->key : event.key;
  if (event.epoch >= dead.epoch || key != dead.key) dead = {event.epoch, key};
  if (worker == nullptr) return;  // said twice, or a newer interpreter is at work
  const QueueId queue = core.requests.at(lease->second.request).queue;
  lose_worker(core, event.place, event.error, event.started);
  dispatch(core, queue);
}

void on(Core& core, const LeaseLost& event) {
  note_end(core, event.request);
  const auto lease = core.leases.find(event.lease);
  if (lease == core.leases.end()) return;  // said twice, or never granted: nothing of ours is there
  const QueueId queue = core.requests.at(lease->second.request).queue;
  std::vector<WorkerRef> places;
  for (const auto& [place, worker] : core.workers)
    if (place.lease == event.lease) places.push_back(place);
  for (const WorkerRef& place : places) lose_worker(core, place, event.error);
  core.leases.erase(event.lease);
  core.demand.changed = true;
  dispatch(core, queue);
}

void on(Core& core, const WorkerRefusedUs& event) {
  Worker* worker = worker_at(core, event.place, event.epoch);
  if (worker == nullptr) return;
  const QueueId queue = worker->queue;
  const PublicKey key = worker->key;
  lose_worker(core, event.place, event.error);
  core.leases[event.place.lease].dead[event.place.worker] = {event.epoch, key};
  fail_waiting(core, queue, event.error);  // every worker of this kind would refuse alike
}

TimePoint fenced_at(const Core& core, const Worker& worker) {
  const bool loses_tasks = worker.link != Link::kAttached && !worker.window.empty();
  return loses_tasks ? worker.silent_since + core.settings.fenced_after : TimePoint::max();
}

void fence(Core& core) {
  std::vector<WorkerRef> fenced;
  for (const auto& [place, worker] : core.workers)
    if (core.now >= fenced_at(core, worker)) fenced.push_back(place);
  const Error silent = error_of(ErrorCode::kLost, CauseCode::kUnreachableTooLong);
  for (const WorkerRef& place : fenced) lose_worker(core, place, silent);
  if (fenced.empty()) return;
  for (const auto& [queue, record] : core.queues) dispatch(core, queue);
}

void lose_worker(Core& core, WorkerRef place, const Error& reason, const Started& started) {
  const auto found = core.workers.find(place);
  lose_window(core, found->second, reason, started);
  --core.requests.at(found->second.request).workers;
  --core.queues.at(found->second.queue).workers;
  core.workers.erase(found);
  core.emit(Disconnect{place});
}

void lose(Core& core, TaskId id, const Error& reason, bool may_be_the_cause) {
  Task& task = core.tasks.at(id);
  const LeaseId lease = task.place->lease;
  const bool gave_up = reason.code == ErrorCode::kCancelled;  // on a task that did not stop
  if (task.cancelling && gave_up) return fail(core, id, reason, lease);
  if (task.cancelling) return fail(core, id, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  if (!is_an_order(reason.code) && runs_again(core, id)) return;
  const bool is_the_reason = !gave_up && (may_be_the_cause || task.state == TaskState::kRunning);
  fail(core, id, is_the_reason ? reason : may_have_executed(reason), lease);
}

bool runs_again(Core& core, TaskId id) {
  Task& task = core.tasks.at(id);
  if (task.retries_left == 0 || task.cancelling) return false;
  --task.retries_left;
  ++task.attempt;
  wait_again(core, id, task);
  return true;
}

}  // namespace pounce::task
