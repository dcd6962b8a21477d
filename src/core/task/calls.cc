// Events that the person and the daemon cause: submit, cancel, close, grants and refusals.
#include "core/task/machine.h"

namespace pounce::task {

void Machine::on(const TaskSubmitted& event) {
  if (closed_) return emit(Fail{event.task, {ErrorCode::kClosed, "The client was closed.", {}, {}}});
  if (tasks_.contains(event.task)) return;  // the same submit twice is one task
  const WantId want = want_for(event.resources);
  Task& task = tasks_[event.task];
  task.want = want;
  task.sequence = next_sequence_++;
  task.retries_left = event.retries;
  wants_[want].waiting.emplace(task.sequence, event.task);
  demand_changed_ = true;
  dispatch(want);
}

void Machine::on(const CancelAsked& event) {
  const auto found = tasks_.find(event.task);
  if (found == tasks_.end()) return;  // it has ended: nothing to cancel
  Task& task = found->second;
  if (task.state == TaskState::kWaiting) return fail(event.task, {ErrorCode::kCancelled, "The task was cancelled.", {}, {}});
  task.cancelling = true;
  task.grace = event.grace;
  // A worker out of reach hears of it when it is asked about the task (on QueryAnswered).
  if (const Link link = workers_.at(*task.place).link; link == Link::kAttached || link == Link::kSilent)
    emit(SendCancel{*task.place, event.task, task.grace});
}

// It keeps its turn: in the new want too it goes before what was submitted after it.
void Machine::on(const TaskMoved& event) {
  const auto found = tasks_.find(event.task);
  if (found == tasks_.end() || found->second.state != TaskState::kWaiting) return;  // it has ended, or has a worker by now
  Task& task = found->second;
  const WantId want = want_for(event.resources);
  if (want == task.want) return;
  wants_[task.want].waiting.erase(task.sequence);
  task.want = want;
  wants_[want].waiting.emplace(task.sequence, event.task);
  demand_changed_ = true;
  dispatch(want);
}

void Machine::on(const ClientClosing&) {
  const Error closed{ErrorCode::kClosed, "The client was closed before the task had ended.", {}, {}};
  closed_ = true;
  while (!workers_.empty()) lose_worker(workers_.begin()->first, closed);
  for (const auto& [want, record] : wants_) fail_waiting(want, closed);
  leases_.clear();
}

void Machine::on(const SessionOpened&) {
  session_open_ = true;
  told_.clear();
  demand_due_ = now_;  // a daemon that has just started knows nothing
}

void Machine::on(const DaemonFailed& event) {
  session_open_ = false;
  for (const auto& [want, record] : wants_) {
    bool has_worker = false;
    for (const auto& [place, worker] : workers_) has_worker |= worker.want == want;
    if (!has_worker) fail_waiting(want, event.error);  // the others run without the daemon
  }
}

void Machine::on(const WantRefused& event) {
  if (wants_.contains(event.want)) fail_waiting(event.want, event.error);
}

void Machine::on(const WorkerGranted& event) {
  if (closed_ || !wants_.contains(event.want)) return;
  Lease& lease = leases_.try_emplace(event.place.lease, Lease{event.want, {}}).first->second;
  if (lease.want != event.want) return;  // a lease serves one want all its life
  demand_changed_ = true;
  if (const auto dead = lease.dead.find(event.place.worker); dead != lease.dead.end() && event.epoch <= dead->second)
    return;  // a grant that its interpreter's death overtook
  if (const auto old = workers_.find(event.place); old != workers_.end()) {
    if (old->second.epoch >= event.epoch) return;  // repeated after a restart of pounced: the connection stands
    lose_worker(event.place, {ErrorCode::kWorkerCrashed, "Its Python was started anew.", {}, {}});
  }
  workers_[event.place] = Worker{event.want, event.epoch, Link::kConnecting, now_, false, {}, 1, {}};
  emit(Connect{event.place, event.epoch});
  dispatch(event.want);  // what the earlier interpreter lost and may run again
}

void Machine::on(const TaskUnsendable& event) {
  if (tasks_.contains(event.task)) {
    const WantId want = tasks_.at(event.task).want;
    fail(event.task, event.error);
    dispatch(want);
  }
}

}  // namespace pounce::task
