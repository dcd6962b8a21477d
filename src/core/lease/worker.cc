// Supervisors and their interpreters: which one may speak for a lease, which interpreter is up, how often one may die.
// A worker's word about its own job is newer than Slurm's; it is believed only for the job identity that is known, and
// epochs only grow.
#include <algorithm>
#include <string>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- a worker connects --------------------------------------------------------------------------------------------

namespace {

void send_away(Core& core, const WorkerConnected& event, CauseCode why) {
  core.act(EndWorker{event.lease, event.link, Cause{why}, false});
}

bool right_job(Core& core, Lease& lease, const WorkerConnected& event) {
  if (event.job.value == 0 || !lease.job) return true;
  if (event.job != lease.job->job || event.restart < lease.job->restart) return false;
  if (event.restart == lease.job->restart) return true;
  if (!accept(core, lease, Trigger::kJobRequeued)) return false;
  JobIdentity next = *lease.job;
  next.restart = event.restart;
  next.submit_time_s = 0;  // a requeue changes it
  const bool go_on = job_requeued(core, lease, next);
  return accept(core, lease, Trigger::kWorkerConnected) && go_on;
}

// A process that lives on beside the newer process that has its place.
bool is_replaced(const Lease& lease, const WorkerConnected& event) {
  const auto known = lease.workers.find(event.worker);
  return known != lease.workers.end() && known->second.replaced.contains(event.supervisor);
}

// Another process: Slurm has started the job a second time, or the first process died. Its interpreters are others, and
// may count from the same epoch again. Its own beat follows at once.
void take_place(Core& core, const Lease& lease, Worker& worker, const PublicKey& supervisor) {
  if (supervisor == PublicKey{} || supervisor == worker.supervisor) return;
  const PublicKey earlier = std::exchange(worker.supervisor, supervisor);
  if (earlier == PublicKey{}) return;
  if (worker.linked)  // before it starts a task that goes elsewhere now
    core.act(EndWorker{lease.id, worker.link, Cause{CauseCode::kWorkerReplaced}, false});
  worker.replaced.insert(earlier);
  worker.epoch = {};
  worker.died.reset();
}

// "GPU 0, GPU 1": each worker names its own share.
std::string devices_of(const Lease& lease) {
  std::string all, last;
  for (const auto& [index, worker] : lease.workers) {
    if (worker.devices.empty() || worker.devices == last) continue;
    last = worker.devices;
    all += (all.empty() ? "" : ", ") + last;
  }
  return all;
}

// A worker that was sent away and stays does not speak for the others: they may be gone.
void heard(Core& core, Lease& lease, Worker& worker) {
  worker.last_seen = core.now;
  if (worker.spent) return;
  lease.last_seen = core.now;
  lease.silence_noted = false;
}

void link(Core& core, Lease& lease, const WorkerConnected& event) {
  Worker& worker = lease.workers[event.worker];  // the same supervisor again keeps its epochs, crashes and last beat
  take_place(core, lease, worker, event.supervisor);
  worker.link = event.link;
  worker.linked = true;
  worker.left = false;
  worker.ready = worker.heard = false;
  worker.devices = event.devices;
  worker.clients = event.clients;
  worker.clients_since = core.now;
  heard(core, lease, worker);
  if (!event.node.empty()) lease.facts.node = event.node;
  if (!event.devices.empty()) lease.facts.devices = devices_of(lease);
  lease.history.add(core.now, {.code = CauseCode::kWorkerConnected, .number = event.worker.value, .node = event.node});
}

}  // namespace

void on(Core& core, const WorkerConnected& event) {
  Lease* lease = find_lease(core, event.lease);
  if (lease == nullptr) lease = &take_on_trust(core, event.lease);
  if (!accept(core, *lease, Trigger::kWorkerConnected)) return send_away(core, event, CauseCode::kNotSubmitted);
  if (lease->state >= LeaseState::kEnding || !right_job(core, *lease, event))
    return send_away(core, event, CauseCode::kLeaseOver);
  if (is_replaced(*lease, event)) return send_away(core, event, CauseCode::kWorkerReplaced);
  if (lease->journalled && event.worker.value >= lease->resources.workers) {
    send_away(core, event, CauseCode::kWorkerTooMany);
    return core.ignore();
  }
  if (!lease->job && event.job.value != 0) lease->job = JobIdentity{event.job, 0, event.restart};
  link(core, *lease, event);
  if (lease->state == LeaseState::kDraining) {
    core.act(EndWorker{lease->id, event.link, lease->end ? cause_of(*lease->end) : Cause{}, lease->only_if_idle});
  } else if (lease->journalled) {
    if (!lease->ready()) enter(core, *lease, LeaseState::kStarting, CauseCode::kWorkerHere);
    introduce(core, *lease, event.worker);
  }
}

// ---- news of a worker that is known -------------------------------------------------------------------------------

namespace {

struct Speaker {
  Lease* lease = nullptr;  // null: ignored
  Worker* worker = nullptr;
};

Speaker speaker(Core& core, const LeaseId& id, WorkerIndex index, WorkerLink link, Trigger trigger) {
  Lease* lease = find_lease(core, id);
  const auto known = lease == nullptr ? decltype(lease->workers.end()){} : lease->workers.find(index);
  if (lease == nullptr || known == lease->workers.end() || known->second.link != link) {
    core.ignore();
    return {};
  }
  if (!accept(core, *lease, trigger)) return {};
  heard(core, *lease, known->second);
  return {lease, &known->second};
}

bool is_gone(Core& core, const Worker& worker, Epoch epoch) {
  if (epoch >= worker.epoch && worker.died != epoch) return false;
  core.ignore();
  return true;
}

void note_state(Core& core, Lease& lease, Worker& worker, NamespaceState state) {
  if (lease.saving()) lease.last_saving = core.now;
  worker.state = state;
}

Cause spent_because(const Worker& worker, std::vector<Cause> because) {
  return {.code = CauseCode::kInterpreterDied,
          .number = static_cast<std::uint32_t>(worker.crashes.size()),
          .because = std::move(because)};
}

}  // namespace

// ---- interpreters -------------------------------------------------------------------------------------------------

namespace {

// It ended because it was told to: no accident. Its page says what it had started.
bool left_idle(const InterpreterDied& event) { return event.error.code == ErrorCode::kLeaseEnded; }

// The next interpreter would have the same GPUs.
bool is_of_gpus(const Error& error) {
  return error.code == ErrorCode::kDeviceFailed || error.code == ErrorCode::kDeviceUnavailable;
}

void interpreter_died(Core& core, Lease& lease, Worker& worker, const InterpreterDied& event) {
  worker.epoch = event.epoch;
  worker.died = event.epoch;
  worker.ready = false;
  worker.running = 0;
  note_state(core, lease, worker, NamespaceState::kSaved);  // what was not saved is gone
  if (!left_idle(event))
    lease.history.add(
        core.now, {.code = CauseCode::kWorkerDied, .number = event.worker.value, .because = {cause_of(event.error)}});
  for (const Owner& one : concerned(core, lease))
    core.act(TellWorkerDown{one.session, one.request, lease.id, event.worker, event.epoch,
                            with_evidence(lease, event.error), event.ended});
}

// A worker that is not worth another start. Others of its lease go on without it; the last one takes the lease with it.
void give_up_worker(Core& core, Lease& lease, Worker& worker, const Error& error) {
  Error why = error;
  if (!is_of_gpus(error)) why.cause = spent_because(worker, {cause_of(error)});
  worker.spent = true;
  if (lease.others_go_on()) return core.act(EndWorker{lease.id, worker.link, cause_of(why), false});
  count_bad_start(core, lease, why, error.code != ErrorCode::kDeviceFailed);
  give_back(core, lease, why);
}

}  // namespace

void on(Core& core, const InterpreterStarted& event) {
  const auto [lease, worker] = speaker(core, event.lease, event.worker, event.link, Trigger::kInterpreterStarted);
  if (lease == nullptr || is_gone(core, *worker, event.epoch)) return;
  if (worker->spent)  // it did not hear
    return core.act(EndWorker{lease->id, worker->link, spent_because(*worker, {}), false});
  worker->epoch = event.epoch;
  worker->ready = worker->ever_ready = true;
  lease->last_busy = core.now;
  if (RequestState* record = request_of(core, *lease); record != nullptr && lease->was_whole()) record->bad_starts = 0;
  refresh(core, *lease);
  introduce(core, *lease, event.worker);
}

void on(Core& core, const InterpreterDied& event) {
  const auto [lease, worker] = speaker(core, event.lease, event.worker, event.link, Trigger::kInterpreterDied);
  if (lease == nullptr || is_gone(core, *worker, event.epoch)) return;
  interpreter_died(core, *lease, *worker, event);
  if (lease->state != LeaseState::kStarting && !lease->active()) return;
  const bool left = left_idle(event);
  const bool on_request = event.error.code == ErrorCode::kCancelled;  // of the user
  if (!left && !on_request) worker->crashes.push_back(core.now);
  std::erase_if(worker->crashes, [&core](TimePoint crash) { return crash + core.times.crash_window < core.now; });
  const bool no_more = !event.restarting || worker->crashes.size() >= core.times.crash_limit;
  if (no_more && !left) give_up_worker(core, *lease, *worker, event.error);  // one that left comes back if others stay
  if (lease->end) return;
  if (!lease->ready()) enter(core, *lease, LeaseState::kStarting, CauseCode::kStartedAgain);
  refresh(core, *lease);
}

// ---- beats and farewells ------------------------------------------------------------------------------------------

namespace {

// One of several workers has left for good: its last beat says nothing any more. What a client still reaches there
// counts as that client's demand.
void forget_tasks_of_the_gone(Core& core, Lease& lease) {
  for (auto& [index, worker] : lease.workers)
    if (!worker.linked && core.now >= worker.last_seen + core.times.lost_after) worker.running = 0;
}

// Of its time's end, or of a preemption: only Slurm knows.
void note_warning(Core& core, Lease& lease, std::uint32_t warnings) {
  lease.warnings = warnings;
  lease.times_known = false;
  lease.history.add(core.now, CauseCode::kWarned);
  poll_soon(core, Duration{});
}

}  // namespace

void on(Core& core, const WorkerSeen& event) {
  const auto [lease, worker] = speaker(core, event.lease, event.worker, event.link, Trigger::kWorkerSeen);
  if (lease == nullptr) return;
  worker->running = event.running;
  worker->heard = true;
  note_state(core, *lease, *worker, event.state);
  forget_tasks_of_the_gone(core, *lease);
  if (event.running > 0) lease->last_busy = core.now;
  if (event.warnings > lease->warnings) note_warning(core, *lease, event.warnings);
  const bool refuses = lease->state == LeaseState::kDraining && lease->only_if_idle && event.running > 0;
  if (refuses && worker->ready) {
    lease->only_if_idle = false;
    lease->end.reset();
    enter(core, *lease, LeaseState::kBusy, CauseCode::kTaskArrived);
  }
  refresh(core, *lease);
}

void on(Core& core, const WorkerLost& event) {
  const auto [lease, worker] = speaker(core, event.lease, event.worker, event.link, Trigger::kWorkerLost);
  if (lease == nullptr) return;
  if (!event.cut) note_state(core, *lease, *worker, event.state);
  if (!worker->linked) return;
  worker->linked = false;
  worker->left = !event.cut;
  lease->history.add(core.now, {.code = CauseCode::kWorkerDisconnected, .number = event.worker.value});
  if (event.cut || lease->state < LeaseState::kDraining) return poll_closely(core);
  if (lease->state == LeaseState::kDraining && !lease->linked()) {  // it ends, as it was told
    lease->only_if_idle = false;
    detach(core, *lease, *lease->end);
  }
  poll_soon(core, Duration{});
}

}  // namespace pounce::lease
