#include "pounced/leases/action_executor.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "launch/local_launcher.h"
#include "messages/sentence.h"
#include "pounced/leases/status_document.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {
namespace {

// For a waiting job the batch system gives only estimates. The last estimate stays until the first poll sees the job
// run.
std::int64_t end_of(const lease::LeaseView& lease) {
  const bool runs = lease.state == lease::LeaseState::kStarting || lease.state == lease::LeaseState::kIdle ||
                    lease.state == lease::LeaseState::kBusy;
  return runs && lease.start_s <= std::time(nullptr) ? lease.end_s : 0;
}

}  // namespace

void Walltimes::hear(const lease::Action& action) {
  if (const auto* admit = std::get_if<lease::AdmitClient>(&action)) {
    if (Peer* worker = peers_.worker(admit->link)) tell(*worker);
  } else if (const auto* status = std::get_if<lease::TellStatus>(&action)) {
    for (Peer* worker : peers_.workers(status->lease)) tell(*worker);
  }
}

void Walltimes::tell(Peer& worker) {
  const auto leases = driver_.core().leases();
  const auto lease = std::ranges::find(leases, worker.lease, &lease::LeaseView::lease);
  if (lease == leases.end()) return;
  const protocol::Walltime walltime{worker.lease, end_of(*lease), lease->reason.code == CauseCode::kPreempted};
  if (walltime.end_time_s == 0 || walltime == worker.told) return;
  if (control_.send(worker, walltime)) worker.told = walltime;
}

namespace {

std::string_view word(lease::JournalRecord::Kind kind) {
  constexpr std::string_view kWords[] = {"intent", "submitted", "ended"};
  return kWords[static_cast<int>(kind)];
}

}  // namespace

void ActionExecutor::carry_out(const lease::Action& action) {
  std::visit([this](const auto& order) { act(order); }, action);
}

void ActionExecutor::act(const lease::RecordIntent& order) {
  const auto written = journal_.append(order.record, true);
  spdlog::info("lease={} {} session={}", order.record.lease.hex(), word(order.record.kind), order.record.session.hex());
  if (written) return;
  spdlog::error("lease={} cannot be journalled: {}", order.record.lease.hex(), written.error().text);
  not_journalled_.emplace(order.record.lease,
                          Error{ErrorCode::kDaemonUnavailable,
                                "pounced cannot ask for a job: " + written.error().text,
                                "Make room for " + context_.folders.journal() + ", then submit again.",
                                {}});
}

void ActionExecutor::act(const lease::RecordOutcome& order) {
  const lease::JournalRecord& record = order.record;
  if (const auto written = journal_.append(record, false); !written)
    spdlog::error("lease={} {} cannot be journalled: {}", record.lease.hex(), word(record.kind), written.error().text);
  if (record.kind != lease::JournalRecord::Kind::kEnded)
    return spdlog::info("lease={} {} job={}", record.lease.hex(), word(record.kind), record.job.job.value);
  spdlog::info("lease={} ended: {}", record.lease.hex(), messages::sentence(record.why));
  state_.uses.ended(record.lease, order.code, record.why, std::time(nullptr));
  std::erase_if(state_.interpreters, [&](const auto& entry) { return entry.first.first == record.lease; });
  state_.peers.forget_lease(record.lease);  // a worker that still lives says hello again and is told to end
}

void ActionExecutor::act(const lease::SubmitJob& order) {
  const auto client = state_.clients.find(order.session);
  if (auto failed = not_journalled_.extract(order.lease))
    return driver_.tell(lease::SubmitFailed{order.lease, std::move(failed.mapped())});
  if (client == state_.clients.end())
    return driver_.tell(lease::SubmitFailed{order.lease, {ErrorCode::kInternal, "its session is gone", {}, {}}});
  jobs_.make(order, client->second, [this, order](Result<MadeJob> made) {
    if (!made) return submission_failed(order, made.error());
    if (!made->note.empty()) spdlog::info("lease={} {}", order.lease.hex(), made->note);
    submit(order, std::move(*made));
  });
}

// If nothing fits elsewhere, a node in trouble is better than none.
void ActionExecutor::submit(const lease::SubmitJob& order, MadeJob made) {
  launcher_.ask(slurm::Submit{made.spec}, [this, order, made](Result<JobIdentity> job) {
    if (job) return driver_.tell(lease::Submitted{order.lease, *job, made.note});
    if (job.error().code == ErrorCode::kUnsatisfiable && made.spec.resources.not_nodes != made.not_nodes) {
      MadeJob anywhere = made;
      anywhere.spec.resources.not_nodes = made.not_nodes;
      anywhere.note = "nothing fits elsewhere than where a GPU was in trouble";
      return submit(order, std::move(anywhere));
    }
    jobs_.explain(job.error(), order, [this, order](const Error& error) { submission_failed(order, error); });
  });
}

void ActionExecutor::submission_failed(const lease::SubmitJob& order, const Error& error) {
  spdlog::warn("lease={} submission: {}", order.lease.hex(), error.text);
  driver_.tell(lease::SubmitFailed{order.lease, error});
}

void ActionExecutor::act(const lease::CancelJob& order) {
  notes_.ending(order.lease);
  spdlog::info("lease={} cancel job={}", order.lease.hex(), order.job.job.value);
  launcher_.ask(slurm::Cancel{order.job}, [this, lease = order.lease](Result<slurm::Done> outcome) {
    driver_.tell(lease::CancelDone{lease, outcome.map([](slurm::Done) {})});
  });
}

void ActionExecutor::act(const lease::PollJobs& order) {
  launcher_.ask(slurm::Poll{order.jobs, order.unheard},
                [this](Views views) { driver_.tell(lease::Polled{as_ours(std::move(views))}); });
}

void ActionExecutor::act(const lease::TakeQueueSnapshot& order) {
  launcher_.ask(slurm::AskQueueSnapshot{order.jobs},
                [this](Result<QueueSnapshot> look) { driver_.tell(lease::QueueSnapshotTaken{std::move(look)}); });
}

void ActionExecutor::act(const lease::ReconcileJobs& order) {
  launcher_.ask(slurm::Reconcile{context_.instance, order.unheard}, [this, order](Views views) {
    if (!views) return driver_.tell(lease::ReconcileDone{std::move(views)});
    reconcile_next(order, 0, std::move(*views));
  });
}

// `found` begins with the jobs of this instance's tag; the jobs of each previous instance are added one after the
// other. One failure fails the whole reconciliation: jobs missing from a partial answer would look as if they did not
// exist.
void ActionExecutor::reconcile_next(const lease::ReconcileJobs& order, std::size_t previous_instance,
                                    std::vector<JobView> found) {
  if (previous_instance == context_.previous_instances.size())
    return driver_.tell(lease::ReconcileDone{as_ours(Views(std::move(found)))});
  launcher_.ask(slurm::Reconcile{context_.previous_instances[previous_instance], order.unheard},
                [this, order, previous_instance, found = std::move(found)](Views views) {
                  if (!views) return driver_.tell(lease::ReconcileDone{std::move(views)});
                  std::vector<JobView> all = found;
                  all.insert(all.end(), views->begin(), views->end());
                  reconcile_next(order, previous_instance + 1, std::move(all));
                });
}

ActionExecutor::Views ActionExecutor::as_ours(Views views) const {
  if (!views) return views;
  for (JobView& view : *views) {
    view.class_name = view.resources.class_name = class_of(policy_.now(), view);
    if (view.instance &&
        std::ranges::find(context_.previous_instances, *view.instance) != context_.previous_instances.end())
      view.instance = context_.instance;
  }
  return views;
}

void ActionExecutor::act(const lease::AdmitClient& order) {
  const Peer* client = state_.peers.client(order.session);
  if (client == nullptr) return;  // it reconnects with another key, and SessionOpened repeats this order
  to_worker(order.lease, order.link, protocol::Admit{order.lease, order.session, transport::to_z85(client->key)});
}

void ActionExecutor::act(const lease::DismissClient& order) {
  to_worker(order.lease, order.link, protocol::Dismiss{order.lease, order.session, order.why});
}

void ActionExecutor::act(const lease::EndWorker& order) {
  notes_.ending(order.lease);
  spdlog::info("lease={} end worker: {}", order.lease.hex(), messages::sentence(order.why));
  to_worker(order.lease, order.link, protocol::EndWorker{order.lease, order.why, order.only_if_idle});
}

void ActionExecutor::act(const lease::YieldSteps& order) {
  to_worker(order.lease, order.link, protocol::YieldSteps{order.lease});
}

void ActionExecutor::act(const lease::GrantWorker& order) {
  const auto found = state_.interpreters.find({order.lease, order.worker});
  if (found == state_.interpreters.end() || found->second.epoch != order.epoch) return;  // a newer grant follows
  to_client(order.session, protocol::Granted{order.request, order.lease, order.worker, order.epoch,
                                             found->second.endpoint, found->second.key});
}

void ActionExecutor::act(const lease::TellStatus& order) {
  protocol::LeaseStatus status;
  status.request = order.request;
  status.lease = order.lease;
  status.state = lease::word(order.state);
  status.cause = order.why;
  status.not_before_s = unix_time_of(order.not_before);
  status.job = order.job.value;
  status.node = order.node;
  status.devices = devices_shown(order);
  status.end_time_s = order.end_time_s;
  status.given = order.given;
  status.class_name = order.waiting.class_name;
  if (order.state == lease::LeaseState::kQueued) status.wait = wait_of(order.waiting, order.start_estimate_s);
  to_client(order.session, status);
}

// Every status names the stand-in, so that no user takes this machine's CPU for a GPU.
std::string ActionExecutor::devices_shown(const lease::TellStatus& status) const {
  if (!context_.stand_in || !status.devices.empty()) return status.devices;
  const auto client = state_.clients.find(status.session);
  if (client == state_.clients.end()) return status.devices;
  const auto request = client->second.requests.find(status.request);
  return request != client->second.requests.end() && request->second.gpus > 0 ? launch::kStandIn : status.devices;
}

void ActionExecutor::act(const lease::TellWorkerDown& order) {
  to_client(order.session, protocol::WorkerDown{order.lease, order.worker, order.epoch, order.error, order.ended});
}

void ActionExecutor::act(const lease::TellLeaseEnded& order) {
  protocol::LeaseEnded message{order.request, order.lease, order.error, std::time(nullptr)};
  message.error.context.emplace("log", context_.folders.lease_log(order.lease));
  to_client(order.session, message);
}

void ActionExecutor::act(const lease::TellRequestFailed& order) {
  to_client(order.session, protocol::RequestFailed{order.request, order.error});
}

void ActionExecutor::act(const lease::EndDaemon&) {
  spdlog::info("nothing to do for long enough: ending");
  context_.end_daemon();
}

void ActionExecutor::to_worker(const LeaseId& lease, lease::WorkerLink link, const protocol::Header& header) {
  Peer* worker = state_.peers.worker(link);
  if (worker == nullptr || control_.send(*worker, header)) return;
  const WorkerIndex index = worker->worker;
  state_.peers.forget(PublicKey(worker->key));  // a live worker notices our silence and says hello again
  driver_.tell(lease::WorkerLost{lease, index, link, true});
}

void ActionExecutor::to_client(const SessionId& session, const protocol::Header& header) {
  if (Peer* client = state_.peers.client(session)) control_.send(*client, header);
}

}  // namespace pounce::daemon
