// How tasks end when their worker is lost: with the reason of the loss, by another run if the user allowed it, or as
// cancelled if a cancel was under way.
#include <algorithm>
#include <utility>

#include "core/task/machine.h"

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

}  // namespace

void Machine::on(const WorkerDied& event) {
  const auto lease = leases_.find(event.place.lease);
  if (lease == leases_.end()) return;  // of a lease that ended: its tasks have been answered
  const Worker* worker = worker_at(event.place, event.epoch);
  const bool nameless = event.key == PublicKey{};
  if (worker != nullptr && !nameless && worker->key != event.key) return;  // another run of the job died
  Dead& dead = lease->second.dead[event.place.worker];
  const PublicKey key = worker != nullptr ? worker->key : event.key;
  if (event.epoch >= dead.epoch || key != dead.key) dead = {event.epoch, key};
  if (worker == nullptr) return;  // said twice, or a newer interpreter is at work
  const QueueId queue = requests_.at(lease->second.request).queue;
  lose_worker(event.place, event.error, event.started);
  dispatch(queue);
}

void Machine::on(const LeaseLost& event) {
  told_end(event.request);
  const auto lease = leases_.find(event.lease);
  if (lease == leases_.end()) return;  // said twice, or never granted: nothing of ours is there
  const QueueId queue = requests_.at(lease->second.request).queue;
  std::vector<Place> places;
  for (const auto& [place, worker] : workers_)
    if (place.lease == event.lease) places.push_back(place);
  for (const Place& place : places) lose_worker(place, event.error);
  leases_.erase(event.lease);
  demand_changed_ = true;
  dispatch(queue);
}

void Machine::on(const WorkerRefusedUs& event) {
  Worker* worker = worker_at(event.place, event.epoch);
  if (worker == nullptr) return;
  const QueueId queue = worker->queue;
  const PublicKey key = worker->key;
  lose_worker(event.place, event.error);
  leases_[event.place.lease].dead[event.place.worker] = {event.epoch, key};
  fail_waiting(queue, event.error);  // every worker of this kind would refuse alike
}

void Machine::on(const TimePassed&) {
  tell_reach();
  fence();
}

// A worker that cannot be reached ends itself in time: its tasks are lost then, not before.
void Machine::fence() {
  std::vector<Place> fenced;
  for (const auto& [place, worker] : workers_)
    if (worker.link != Link::kAttached && !worker.window.empty() &&
        now_ >= worker.silent_since + settings_.fenced_after)
      fenced.push_back(place);
  const Error silent = error_of(ErrorCode::kLost, CauseCode::kUnreachableTooLong);
  for (const Place& place : fenced) lose_worker(place, silent);
  if (fenced.empty()) return;
  for (const auto& [queue, record] : queues_) dispatch(queue);
}

void Machine::lose_worker(Place place, Error reason, const Started& started) {
  const auto found = workers_.find(place);
  reason.context.try_emplace("lease", place.lease.hex());
  lose_window(found->second, reason, started);
  --requests_.at(found->second.request).workers;
  --queues_.at(found->second.queue).workers;
  workers_.erase(found);
  emit(Disconnect{place});
}

void Machine::lose_window(Worker& worker, const Error& reason, const Started& started) {
  const auto window = worker.window;
  const Started& known = started || is_meant_for_tasks(reason) ? started : worker.started;
  // Workers run their window in order: only its first task can be what took the worker down.
  for (std::size_t i = 0; i < window.size(); ++i) {
    Task& task = tasks_.at(window[i]);
    const bool never_started = known && std::ranges::find(*known, window[i]) == known->end();
    if (never_started && !task.cancelling && task.state != TaskState::kRunning)
      wait_again(window[i], task);
    else
      lose(window[i], reason, i == 0);
  }
}

void Machine::lose(TaskId id, const Error& reason, bool may_be_the_cause) {
  Task& task = tasks_.at(id);
  const bool gave_up = reason.code == ErrorCode::kCancelled;  // on a task that did not stop
  if (task.cancelling) return fail(id, gave_up ? reason : error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  if (task.retries_left > 0 && !is_an_order(reason.code)) {
    --task.retries_left;
    ++task.attempt;
    return wait_again(id, task);
  }
  const bool is_the_reason = !gave_up && (may_be_the_cause || task.state == TaskState::kRunning);
  fail(id, is_the_reason ? reason : may_have_executed(reason));
}

}  // namespace pounce::task
