#include "core/lease/workers.h"

#include <algorithm>
#include <utility>

namespace pounce::lease {
namespace {

// "GPU 0, GPU 1": each worker tells its own share.
std::string devices_of(const Lease& lease) {
  std::string all, last;
  for (const auto& [index, worker] : lease.workers) {
    if (worker.devices.empty() || worker.devices == last) continue;
    last = worker.devices;
    all += (all.empty() ? "" : ", ") + last;
  }
  return all;
}

// As it was asked to: no accident. Its page says what it had started.
bool left_idle(const InterpreterDied& event) { return event.error.code == ErrorCode::kLeaseEnded; }

// No accident of the interpreter's: the next one would have the same GPUs.
bool for_its_gpus(const Error& error) { return error.code == ErrorCode::kDeviceFailed || error.code == ErrorCode::kDeviceUnavailable; }

Cause spent_because(const Worker& worker, std::vector<Cause> because) {
  return {.code = CauseCode::kInterpreterDied, .number = static_cast<std::uint32_t>(worker.crashes.size()), .because = std::move(because)};
}

}  // namespace

void Workers::on(const WorkerConnected& event) {
  Lease* lease = context_.leases.find(event.lease);
  if (lease == nullptr) lease = &context_.reconciliation.take_on_trust(event.lease);
  if (!transitions_.accept(*lease, News::kWorkerConnected)) return send_away(event, CauseCode::kNotSubmitted);
  if (lease->state >= LeaseState::kEnding || !right_job(*lease, event)) return send_away(event, CauseCode::kLeaseOver);
  if (replaced(*lease, event)) return send_away(event, CauseCode::kWorkerReplaced);
  if (lease->journalled && event.worker.value >= lease->resources.workers) {
    send_away(event, CauseCode::kWorkerTooMany);
    return context_.ignore("a worker too many");
  }
  if (!lease->job && event.job.value != 0) lease->job = JobIdentity{event.job, 0, event.restart};
  link(*lease, event);
  if (lease->state == LeaseState::kDraining) {
    context_.act(EndWorker{lease->id, event.link, lease->end ? cause_of(*lease->end) : Cause{}, lease->only_if_idle});
  } else if (lease->journalled) {
    if (!lease->ready()) transitions_.enter(*lease, LeaseState::kStarting, CauseCode::kWorkerHere);
    notices_.introduce(*lease, event.worker);
  }
}

void Workers::send_away(const WorkerConnected& event, CauseCode why) {
  context_.act(EndWorker{event.lease, event.link, Cause{why}, false});
}

bool Workers::right_job(Lease& lease, const WorkerConnected& event) {
  if (event.job.value == 0 || !lease.job) return true;
  if (event.job != lease.job->job || event.restart < lease.job->restart) return false;
  if (event.restart == lease.job->restart) return true;
  if (!transitions_.accept(lease, News::kJobRequeued)) return false;
  JobIdentity next = *lease.job;
  next.restart = event.restart;
  next.submit_time_s = 0;  // a requeue changes it
  const bool go_on = jobs_.requeued(lease, next);
  return transitions_.accept(lease, News::kWorkerConnected) && go_on;
}

// One that lives on beside the newer process that has its place.
bool Workers::replaced(const Lease& lease, const WorkerConnected& event) {
  const auto known = lease.workers.find(event.worker);
  return known != lease.workers.end() && known->second.replaced.contains(event.supervisor);
}

// Another process: Slurm has started the job a second time, or the first one died. Its interpreters are others, and may
// count from the same epoch again. Its own beat follows at once.
void Workers::take_place(const Lease& lease, Worker& worker, const PublicKey& supervisor) {
  if (supervisor == PublicKey{} || supervisor == worker.supervisor) return;
  const PublicKey earlier = std::exchange(worker.supervisor, supervisor);
  if (earlier == PublicKey{}) return;
  if (worker.linked) context_.act(EndWorker{lease.id, worker.link, Cause{CauseCode::kWorkerReplaced}, false});  // before it starts what goes elsewhere now
  worker.replaced.insert(earlier);
  worker.epoch = {};
  worker.died.reset();
}

void Workers::link(Lease& lease, const WorkerConnected& event) {
  Worker& worker = lease.workers[event.worker];  // the same supervisor again keeps its epochs, crashes and last beat
  take_place(lease, worker, event.supervisor);
  worker.link = event.link;
  worker.linked = true;
  worker.left = false;
  worker.ready = worker.heard = false;
  worker.devices = event.devices;
  worker.clients = event.clients;
  worker.clients_since = context_.now();
  heard(lease, worker);
  if (!event.node.empty()) lease.facts.node = event.node;
  if (!event.devices.empty()) lease.facts.devices = devices_of(lease);
  lease.history.add(context_.now(), {.code = CauseCode::kWorkerConnected, .number = event.worker.value, .node = event.node});
}

Workers::Heard Workers::hear(const LeaseId& id, WorkerIndex index, WorkerLink link, News news) {
  Lease* lease = context_.leases.find(id);
  const auto known = lease == nullptr ? decltype(lease->workers.end()){} : lease->workers.find(index);
  if (lease == nullptr || known == lease->workers.end() || known->second.link != link) {
    context_.ignore("news of an unknown worker");
    return {};
  }
  if (!transitions_.accept(*lease, news)) return {};
  heard(*lease, known->second);
  return {lease, &known->second};
}

// One that was sent away and stays does not speak for the others: they may be gone.
void Workers::heard(Lease& lease, Worker& worker) {
  worker.last_seen = context_.now();
  if (worker.spent) return;
  lease.last_seen = context_.now();
  lease.silence_noted = false;
}

bool Workers::gone(const Worker& worker, Epoch epoch) {
  if (epoch >= worker.epoch && worker.died != epoch) return false;
  context_.ignore("an interpreter that is gone");
  return true;
}

void Workers::on(const InterpreterStarted& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kInterpreterStarted);
  if (lease == nullptr || gone(*worker, event.epoch)) return;
  if (worker->spent) return context_.act(EndWorker{lease->id, worker->link, spent_because(*worker, {}), false});  // it did not hear
  worker->epoch = event.epoch;
  worker->ready = worker->ever_ready = true;
  lease->last_busy = context_.now();
  if (RequestState* record = context_.sessions.request_of(*lease); record != nullptr && lease->was_whole()) record->bad_starts = 0;
  transitions_.refresh(*lease);
  notices_.introduce(*lease, event.worker);
}

void Workers::on(const InterpreterDied& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kInterpreterDied);
  if (lease == nullptr || gone(*worker, event.epoch)) return;
  died(*lease, *worker, event);
  if (lease->state != LeaseState::kStarting && !lease->active()) return;
  const bool left = left_idle(event);
  if (!left && event.error.code != ErrorCode::kCancelled) worker->crashes.push_back(context_.now());  // else the user asked for it
  std::erase_if(worker->crashes, [this](TimePoint crash) { return crash + context_.times.crash_window < context_.now(); });
  const bool no_more = !event.restarting || worker->crashes.size() >= context_.times.crash_limit;
  if (no_more && !left) spent(*lease, *worker, event.error);  // one that left comes back if others stay
  if (lease->end) return;
  if (!lease->ready()) transitions_.enter(*lease, LeaseState::kStarting, CauseCode::kStartedAgain);
  transitions_.refresh(*lease);
}

void Workers::died(Lease& lease, Worker& worker, const InterpreterDied& event) {
  worker.epoch = event.epoch;
  worker.died = event.epoch;
  worker.ready = false;
  worker.running = 0;
  note_state(lease, worker, NamespaceState::kSaved);  // what was not saved is gone
  if (!left_idle(event))
    lease.history.add(context_.now(), {.code = CauseCode::kWorkerDied, .number = event.worker.value, .because = {cause_of(event.error)}});
  for (const Owner& one : context_.sessions.concerned(lease))
    context_.act(TellWorkerDown{one.session, one.request, lease.id, event.worker, event.epoch, with_evidence(lease, event.error)});
}

// One that is not worth another start. Others of its lease go on without it; the last one takes the lease with it.
void Workers::spent(Lease& lease, Worker& worker, const Error& error) {
  Error why = error;
  if (!for_its_gpus(error)) why.cause = spent_because(worker, {cause_of(error)});
  worker.spent = true;
  if (lease.others_go_on()) return context_.act(EndWorker{lease.id, worker.link, cause_of(why), false});
  requests_.count_bad_start(lease, why, error.code != ErrorCode::kDeviceFailed);
  ending_.give_back(lease, why);
}

void Workers::on(const WorkerSeen& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kWorkerSeen);
  if (lease == nullptr) return;
  worker->running = event.running;
  worker->heard = true;
  note_state(*lease, *worker, event.state);
  forget_tasks_of_the_gone(*lease);
  if (event.running > 0) lease->last_busy = context_.now();
  if (event.warnings > lease->warnings) warned(*lease, event.warnings);
  const bool refuses = lease->state == LeaseState::kDraining && lease->only_if_idle && event.running > 0;
  if (refuses && worker->ready) {
    lease->only_if_idle = false;
    lease->end.reset();
    transitions_.enter(*lease, LeaseState::kBusy, CauseCode::kTaskArrived);
  }
  transitions_.refresh(*lease);
}

// One of several that has left for good: its last beat says nothing any more. What a client still reaches there counts as
// that client's demand.
void Workers::forget_tasks_of_the_gone(Lease& lease) {
  for (auto& [index, worker] : lease.workers)
    if (!worker.linked && context_.now() >= worker.last_seen + context_.times.lost_after) worker.running = 0;
}

void Workers::note_state(Lease& lease, Worker& worker, NamespaceState state) {
  if (lease.saving()) lease.last_saving = context_.now();
  worker.state = state;
}

// Of its time's end, or of a preemption: only Slurm knows.
void Workers::warned(Lease& lease, std::uint32_t warnings) {
  lease.warnings = warnings;
  lease.times_known = false;
  lease.history.add(context_.now(), CauseCode::kWarned);
  context_.polling.soon(Duration{});
}

void Workers::on(const WorkerLost& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kWorkerLost);
  if (lease == nullptr) return;
  if (!event.cut) note_state(*lease, *worker, event.state);
  if (!worker->linked) return;
  worker->linked = false;
  worker->left = !event.cut;
  lease->history.add(context_.now(), {.code = CauseCode::kWorkerDisconnected, .number = event.worker.value});
  if (event.cut || lease->state < LeaseState::kDraining) return context_.polling.closely();
  if (lease->state == LeaseState::kDraining && !lease->linked()) {  // it ends, as it was told
    lease->only_if_idle = false;
    ending_.detach(*lease, *lease->end);
  }
  context_.polling.soon(Duration{});
}

}  // namespace pounce::lease
