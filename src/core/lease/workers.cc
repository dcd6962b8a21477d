// Supervisors and their interpreters. A worker's word about its own job is newer than Slurm's; it is believed only
// for the incarnation that the books know, and epochs only grow.
#include <algorithm>

#include "core/lease/lease_core.h"

namespace pounce::lease {
namespace {

std::string worker_name(WorkerIndex index) { return "worker " + std::to_string(index.value); }

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

}  // namespace

void LeaseCore::on(const WorkerConnected& event) {
  Lease* lease = find(event.lease);
  if (lease == nullptr) lease = &take_on_trust(event.lease);
  if (!accept(*lease, News::kWorkerConnected)) return act(EndWorker{event.lease, event.link, "not submitted", false});
  if (lease->state >= LeaseState::kEnding || !right_job(*lease, event))
    return act(EndWorker{event.lease, event.link, "this lease has ended", false});
  if (lease->journalled && event.worker.value >= lease->resources.workers) {
    act(EndWorker{event.lease, event.link, "a worker more than this lease has", false});
    return ignore("a worker too many");
  }
  if (!lease->job && event.job.value != 0) lease->job = Incarnation{event.job, 0, event.restart};
  link_worker(*lease, event);
  if (lease->state == LeaseState::kDraining) {
    act(EndWorker{lease->id, event.link, lease->end ? lease->end->text : "", lease->only_if_idle});
  } else if (lease->journalled) {
    if (!lease->ready()) enter(*lease, LeaseState::kStarting, "its worker is here");
    introduce(*lease, event.worker);
  }
}

// A lease that the books do not know, on a worker's or a sweep's word: a doubt until a sweep says what it is.
Lease& LeaseCore::take_on_trust(const LeaseId& id) {
  Lease lease;
  lease.id = id;
  lease.state = LeaseState::kSubmitting;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = now_;
  lease.doubt_from = sweeps_begun_;
  lease.story.add(now_, "first heard of");
  sweeps_after_doubt_ = 2;
  changed_ = true;
  return leases_.emplace(id, std::move(lease)).first->second;
}

bool LeaseCore::right_job(Lease& lease, const WorkerConnected& event) {
  if (event.job.value == 0 || !lease.job) return true;
  if (event.job != lease.job->job || event.restart < lease.job->restart) return false;
  if (event.restart == lease.job->restart) return true;
  if (!accept(lease, News::kJobRequeued)) return false;
  Incarnation next = *lease.job;
  next.restart = event.restart;
  next.submit_time_s = 0;  // a requeue changes it
  const bool go_on = requeued(lease, next);
  return accept(lease, News::kWorkerConnected) && go_on;
}

void LeaseCore::link_worker(Lease& lease, const WorkerConnected& event) {
  Worker& worker = lease.workers[event.worker];  // the same supervisor again keeps its epochs, crashes and last beat
  worker.link = event.link;
  worker.linked = true;
  worker.ready = false;
  worker.devices = event.devices;
  lease.heard = now_;
  lease.silence_noted = false;
  if (!event.node.empty()) lease.facts.node = event.node;
  if (!event.devices.empty()) lease.facts.devices = devices_of(lease);
  lease.story.add(now_, worker_name(event.worker) + " connected from " + event.node);
}

LeaseCore::Heard LeaseCore::hear(const LeaseId& id, WorkerIndex index, WorkerLink link, News news) {
  Lease* lease = find(id);
  const auto known = lease == nullptr ? decltype(lease->workers.end()){} : lease->workers.find(index);
  if (lease == nullptr || known == lease->workers.end() || known->second.link != link) {
    ignore("news of an unknown worker");
    return {};
  }
  if (!accept(*lease, news)) return {};
  lease->heard = now_;
  lease->silence_noted = false;
  return {lease, &known->second};
}

void LeaseCore::on(const InterpreterStarted& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kInterpreterStarted);
  if (lease == nullptr) return;
  if (event.epoch < worker->epoch || worker->died == event.epoch) return ignore("an interpreter that is gone");
  worker->epoch = event.epoch;
  worker->ready = lease->ever_ready = true;
  lease->last_busy = now_;
  if (WantBook* book = want_of(*lease)) book->bad_starts = 0;
  refresh(*lease);
  introduce(*lease, event.worker);
}

void LeaseCore::on(const InterpreterDied& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kInterpreterDied);
  if (lease == nullptr) return;
  if (event.epoch < worker->epoch || worker->died == event.epoch) return ignore("an interpreter that is gone");
  worker->epoch = event.epoch;
  worker->died = event.epoch;
  worker->ready = false;
  worker->running = 0;
  lease->story.add(now_, worker_name(event.worker) + ": interpreter died: " + event.error.text);
  if (lease->owner)
    act(TellWorkerDown{lease->owner->session, lease->owner->want, lease->id, event.worker, event.epoch, event.error});
  if (lease->state != LeaseState::kStarting && !lease->active()) return;
  if (event.error.code != ErrorCode::kCancelled) worker->crashes.push_back(now_);  // else the person asked for it
  std::erase_if(worker->crashes, [this](TimePoint crash) { return crash + defaults_.crash_window < now_; });
  if (!event.restarting || worker->crashes.size() >= defaults_.crash_limit)
    worker_spent(*lease, *worker, event.error);
  if (lease->end) return;
  if (!lease->ready()) enter(*lease, LeaseState::kStarting, "its interpreter is started again");
  refresh(*lease);
}

// One that is not worth another start. Others of its lease go on without it; the last one takes the lease with it.
void LeaseCore::worker_spent(Lease& lease, Worker& worker, const Error& error) {
  Error why = error;
  why.text = "The interpreter died " + std::to_string(worker.crashes.size()) + " times: " + error.text;
  worker.spent = true;
  const bool others = std::ranges::any_of(
      lease.workers, [](const auto& entry) { return entry.second.linked && !entry.second.spent; });
  if (others) return act(EndWorker{lease.id, worker.link, why.text, false});
  count_bad_start(lease, why, true);
  give_back(lease, why);
}

void LeaseCore::on(const WorkerHeard& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kWorkerHeard);
  if (lease == nullptr) return;
  worker->running = event.running;
  if (event.running > 0) lease->last_busy = now_;
  if (event.warnings > lease->warnings) {  // of its time's end, or of a preemption: only the batch system knows
    lease->warnings = event.warnings;
    lease->times_known = false;
    lease->story.add(now_, "warned by the batch system");
    poll_soon(Duration{});
  }
  const bool refuses = lease->state == LeaseState::kDraining && lease->only_if_idle && event.running > 0;
  if (refuses && worker->ready) {
    lease->only_if_idle = false;
    lease->end.reset();
    enter(*lease, LeaseState::kBusy, "a task had just arrived");
  }
  refresh(*lease);
}

void LeaseCore::on(const WorkerLost& event) {
  const auto [lease, worker] = hear(event.lease, event.worker, event.link, News::kWorkerLost);
  if (lease == nullptr || !worker->linked) return;
  worker->linked = false;
  lease->story.add(now_, worker_name(event.worker) + "'s connection is gone");
  if (lease->state == LeaseState::kDraining && !lease->linked()) {  // it ends, as it was told
    lease->only_if_idle = false;
    detach(*lease, *lease->end);
  }
  poll_soon(Duration{});
}

// Both sides learn of each other; repeated freely.
void LeaseCore::introduce(const Lease& lease) {
  for (const auto& [index, worker] : lease.workers) introduce(lease, index);
}

void LeaseCore::introduce(const Lease& lease, WorkerIndex index) {
  const Worker& worker = lease.workers.at(index);
  if (!lease.owner || !worker.linked) return;
  act(AdmitClient{lease.id, worker.link, lease.owner->session});
  if (worker.ready && lease.active())
    act(GrantWorker{lease.owner->session, lease.owner->want, lease.id, index, worker.epoch});
}

}  // namespace pounce::lease
