// Supervisors and their interpreters. A worker's word about its own job is newer than Slurm's; it is believed only
// for the incarnation that the books know, and epochs only grow.
#include <algorithm>

#include "core/lease/lease_core.h"

namespace pounce::lease {

void LeaseCore::on(const WorkerConnected& event) {
  if (event.worker.value != 0) {
    act(EndWorker{event.lease, event.link, "a lease has one worker", false});
    return ignore("a second worker of a lease");
  }
  Lease* lease = find(event.lease);
  if (lease == nullptr) lease = &take_on_trust(event.lease);
  if (!accept(*lease, News::kWorkerConnected)) return act(EndWorker{event.lease, event.link, "not submitted", false});
  if (lease->state >= LeaseState::kEnding || !right_job(*lease, event))
    return act(EndWorker{event.lease, event.link, "this lease has ended", false});
  if (!lease->job && event.job.value != 0) lease->job = Incarnation{event.job, 0, event.restart};
  link_worker(*lease, event);
  if (lease->state == LeaseState::kDraining) {
    act(EndWorker{lease->id, event.link, lease->end ? lease->end->text : "", lease->only_if_idle});
  } else if (lease->journalled) {
    enter(*lease, LeaseState::kStarting, "its worker is here");
    introduce(*lease);
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
  if (!lease.worker) lease.worker.emplace();
  Worker& worker = *lease.worker;  // the same supervisor again keeps its epochs, crashes and last beat
  worker.index = event.worker;
  worker.link = event.link;
  worker.linked = true;
  worker.silence_noted = false;
  worker.ready = false;
  worker.heard = now_;
  if (!event.node.empty()) lease.facts.node = event.node;
  if (!event.devices.empty()) lease.facts.devices = event.devices;
  lease.story.add(now_, "worker connected from " + event.node);
}

Lease* LeaseCore::worker_of(const LeaseId& id, WorkerLink link, News news) {
  Lease* lease = find(id);
  if (lease == nullptr || !lease->worker || lease->worker->link != link) {
    ignore("news of an unknown worker");
    return nullptr;
  }
  if (!accept(*lease, news)) return nullptr;
  lease->worker->heard = now_;
  lease->worker->silence_noted = false;
  return lease;
}

void LeaseCore::on(const InterpreterStarted& event) {
  Lease* lease = worker_of(event.lease, event.link, News::kInterpreterStarted);
  if (lease == nullptr) return;
  Worker& worker = *lease->worker;
  if (event.epoch < worker.epoch || worker.died == event.epoch) return ignore("an interpreter that is gone");
  worker.epoch = event.epoch;
  worker.ready = worker.ever_ready = true;
  lease->last_busy = now_;
  if (WantBook* book = want_of(*lease)) book->bad_starts = 0;
  refresh(*lease);
  introduce(*lease);
}

void LeaseCore::on(const InterpreterDied& event) {
  Lease* lease = worker_of(event.lease, event.link, News::kInterpreterDied);
  if (lease == nullptr) return;
  Worker& worker = *lease->worker;
  if (event.epoch < worker.epoch || worker.died == event.epoch) return ignore("an interpreter that is gone");
  worker.epoch = event.epoch;
  worker.died = event.epoch;
  worker.ready = false;
  worker.running = 0;
  lease->story.add(now_, "interpreter died: " + event.error.text);
  if (lease->owner)
    act(TellWorkerDown{lease->owner->session, lease->owner->want, lease->id, event.worker, event.epoch, event.error});
  if (lease->state != LeaseState::kStarting && !lease->active()) return;
  if (event.error.code != ErrorCode::kCancelled) worker.crashes.push_back(now_);  // else the person asked for it
  std::erase_if(worker.crashes, [this](TimePoint crash) { return crash + defaults_.crash_window < now_; });
  if (event.restarting && worker.crashes.size() < defaults_.crash_limit)
    return enter(*lease, LeaseState::kStarting, "its interpreter is started again");
  Error why = event.error;
  why.text = "The interpreter died " + std::to_string(worker.crashes.size()) + " times: " + event.error.text;
  count_bad_start(*lease, why, true);
  give_back(*lease, why);
}

void LeaseCore::on(const WorkerHeard& event) {
  Lease* lease = worker_of(event.lease, event.link, News::kWorkerHeard);
  if (lease == nullptr) return;
  lease->worker->running = event.running;
  if (event.running > 0) lease->last_busy = now_;
  const bool refuses = lease->state == LeaseState::kDraining && lease->only_if_idle && event.running > 0;
  if (refuses && lease->worker->ready) {
    lease->only_if_idle = false;
    lease->end.reset();
    enter(*lease, LeaseState::kBusy, "a task had just arrived");
  }
  refresh(*lease);
}

void LeaseCore::on(const WorkerLost& event) {
  Lease* lease = worker_of(event.lease, event.link, News::kWorkerLost);
  if (lease == nullptr || !lease->worker->linked) return;
  lease->worker->linked = false;
  lease->story.add(now_, "worker's connection is gone");
  if (lease->state == LeaseState::kDraining) {  // it ends, as it was told
    lease->only_if_idle = false;
    detach(*lease, *lease->end);
  }
  poll_soon(Duration{});
}

// Both sides learn of each other; repeated freely.
void LeaseCore::introduce(Lease& lease) {
  if (!lease.owner || !lease.linked()) return;
  act(AdmitClient{lease.id, lease.worker->link, lease.owner->session});
  if (lease.worker->ready && lease.active())
    act(GrantWorker{lease.owner->session, lease.owner->want, lease.id, lease.worker->index, lease.worker->epoch});
}

}  // namespace pounce::lease
