#include "pounced/orders.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "launch/local_launcher.h"
#include "pounced/clock_time.h"
#include "transport/context.h"

namespace pounce::daemon {
namespace {

std::string_view word(lease::JournalRecord::Kind kind) {
  constexpr std::string_view kWords[] = {"intent", "submitted", "ended"};
  return kWords[static_cast<int>(kind)];
}

}  // namespace

void Orders::carry_out(const lease::Action& action) {
  std::visit([this](const auto& order) { act(order); }, action);
}

void Orders::act(const lease::RecordIntent& order) {
  const auto written = journal_.append(order.record, true);
  spdlog::info("lease={} {} session={}", order.record.lease.hex(), word(order.record.kind), order.record.session.hex());
  if (written) return;
  spdlog::error("lease={} cannot be journalled: {}", order.record.lease.hex(), written.error().text);
  not_journalled_.emplace(order.record.lease, Error{ErrorCode::kDaemonUnavailable, "pounced cannot ask for a job: " + written.error().text,
                                                    "Make room for " + context_.folders.journal() + ", then submit again.", {}});
}

void Orders::act(const lease::RecordOutcome& order) {
  const lease::JournalRecord& record = order.record;
  if (const auto written = journal_.append(record, false); !written)
    spdlog::error("lease={} {} cannot be journalled: {}", record.lease.hex(), word(record.kind), written.error().text);
  if (record.kind != lease::JournalRecord::Kind::kEnded)
    return spdlog::info("lease={} {} job={}", record.lease.hex(), word(record.kind), record.job.job.value);
  spdlog::info("lease={} ended: {}", record.lease.hex(), record.reason);
  books_.uses.ended(record.lease, record.reason, std::time(nullptr));
  std::erase_if(books_.interpreters, [&](const auto& entry) { return entry.first.first == record.lease; });
}

void Orders::act(const lease::SubmitJob& order) {
  const auto client = books_.clients.find(order.session);
  if (auto failed = not_journalled_.extract(order.lease))
    return driver_.tell(lease::SubmitFailed{order.lease, std::move(failed.mapped())});
  if (client == books_.clients.end())
    return driver_.tell(lease::SubmitFailed{order.lease, {ErrorCode::kInternal, "its session is gone", {}, {}}});
  jobs_.make(order, client->second.opened, [this, order](Result<MadeJob> made) {
    if (!made) return submission_failed(order, made.error());
    if (!made->note.empty()) spdlog::info("lease={} {}", order.lease.hex(), made->note);
    launcher_.submit(made->spec, [this, order, note = made->note](Result<Incarnation> job) {
      if (job) return driver_.tell(lease::Submitted{order.lease, *job, note});
      jobs_.explain(job.error(), order, [this, order](const Error& error) { submission_failed(order, error); });
    });
  });
}

void Orders::submission_failed(const lease::SubmitJob& order, const Error& error) {
  spdlog::warn("lease={} submission: {}", order.lease.hex(), error.text);
  driver_.tell(lease::SubmitFailed{order.lease, error});
}

void Orders::act(const lease::CancelJob& order) {
  note_use(order.lease);
  spdlog::info("lease={} cancel job={}", order.lease.hex(), order.job.job.value);
  launcher_.cancel(order.job, [this, lease = order.lease](Result<void> outcome) {
    driver_.tell(lease::CancelDone{lease, std::move(outcome)});
  });
}

void Orders::act(const lease::PollJobs& order) {
  launcher_.poll(order.jobs, [this](Views views) { driver_.tell(lease::Polled{as_ours(std::move(views))}); });
}

void Orders::act(const lease::LookAtQueue& order) {
  launcher_.look(order.jobs, [this](Result<QueueLook> look) { driver_.tell(lease::QueueSeen{std::move(look)}); });
}

void Orders::act(const lease::SweepJobs&) {
  launcher_.sweep(context_.instance, [this](Views views) {
    if (!views) return driver_.tell(lease::Swept{std::move(views)});
    sweep_next(0, std::move(*views));
  });
}

// The own tag's jobs are in `found`; then each predecessor's, one after the other. Any failure fails the whole: half a
// truth would look like the absence of the other half.
void Orders::sweep_next(std::size_t predecessor, std::vector<JobView> found) {
  if (predecessor == context_.predecessors.size()) return driver_.tell(lease::Swept{as_ours(Views(std::move(found)))});
  launcher_.sweep(context_.predecessors[predecessor], [this, predecessor, found = std::move(found)](Views views) {
    if (!views) return driver_.tell(lease::Swept{std::move(views)});
    std::vector<JobView> all = found;
    all.insert(all.end(), views->begin(), views->end());
    sweep_next(predecessor + 1, std::move(all));
  });
}

Orders::Views Orders::as_ours(Views views) const {
  if (!views) return views;
  for (JobView& view : *views) {
    view.class_name = view.resources.class_name = class_of(policy_.now(), view);
    if (view.instance && std::ranges::find(context_.predecessors, *view.instance) != context_.predecessors.end())
      view.instance = context_.instance;
  }
  return views;
}

void Orders::act(const lease::AdmitClient& order) {
  const Guest* client = books_.guests.client(order.session);
  if (client == nullptr) return;  // it comes back with another key: SessionOpened repeats this
  to_worker(order.lease, order.link, protocol::Admit{order.lease, order.session, transport::to_z85(client->key)});
}

void Orders::act(const lease::DismissClient& order) {
  to_worker(order.lease, order.link, protocol::Dismiss{order.lease, order.session, order.reason});
}

// Into the job's comment, which the accounting keeps: for everybody's `pouncectl usage`. Said before the job ends: Slurm
// takes no more of one that has ended.
void Orders::note_use(const LeaseId& lease) {
  const auto job = books_.uses.job(lease);
  const auto note = books_.uses.note(context_.instance, lease, Clock::now());
  if (!job || !note || noted_ == *note) return;  // each of its workers is ended, and one word is enough
  noted_ = *note;
  launcher_.note(*job, *note, [lease](Result<void> noted) {
    if (!noted) spdlog::info("lease={} its job could not be told what it used: {}", lease.hex(), noted.error().text);
  });
}

void Orders::act(const lease::EndWorker& order) {
  note_use(order.lease);
  spdlog::info("lease={} end worker: {}", order.lease.hex(), order.reason);
  to_worker(order.lease, order.link, protocol::EndWorker{order.lease, order.reason, order.only_if_idle});
}

void Orders::act(const lease::GrantWorker& order) {
  const auto found = books_.interpreters.find({order.lease, order.worker});
  if (found == books_.interpreters.end() || found->second.epoch != order.epoch) return;  // a newer grant follows
  to_client(order.session, protocol::Granted{order.want, order.lease, order.worker, order.epoch, found->second.endpoint,
                                             found->second.key});
}

void Orders::act(const lease::TellStatus& order) {
  protocol::LeaseStatus status;
  status.want = order.want;
  status.lease = order.lease;
  status.state = lease::word(order.state);
  status.reason = order.reason;
  status.job = order.job.value;
  status.node = order.node;
  status.devices = devices_shown(order);
  status.start_estimate_s = order.start_estimate_s;
  if (const std::string when = clock_time_of(order.not_before); !when.empty()) status.reason += "; not before " + when;
  status.end_time_s = order.end_time_s;
  status.class_name = order.waiting.class_name;
  if (order.state == lease::LeaseState::kQueued) {
    status.slurm_reason = order.waiting.sentence;
    status.ahead = order.waiting.ahead;
    status.limit = order.waiting.limit;
    status.eta = order.waiting.eta;
  }
  to_client(order.session, status);
}

// Nobody may take this machine's CPU for a GPU, from the first line on.
std::string Orders::devices_shown(const lease::TellStatus& status) const {
  if (!context_.stand_in || !status.devices.empty()) return status.devices;
  const auto client = books_.clients.find(status.session);
  if (client == books_.clients.end()) return status.devices;
  const auto want = client->second.wants.find(status.want);
  return want != client->second.wants.end() && want->second.gpus > 0 ? launch::kStandIn : status.devices;
}

void Orders::act(const lease::TellWorkerDown& order) {
  to_client(order.session, protocol::WorkerDown{order.lease, order.worker, order.epoch, order.error});
}

void Orders::act(const lease::TellLeaseEnded& order) {
  protocol::LeaseEnded message{order.want, order.lease, order.error};
  message.error.context.emplace("at", std::to_string(std::time(nullptr)));
  message.error.context.emplace("log", context_.folders.lease_log(order.lease));
  to_client(order.session, message);
}

void Orders::act(const lease::TellWantFailed& order) {
  to_client(order.session, protocol::WantFailed{order.want, order.error});
}

void Orders::act(const lease::EndDaemon&) {
  spdlog::info("nothing to do for long enough: ending");
  context_.end_daemon();
}

void Orders::to_worker(const LeaseId& lease, lease::WorkerLink link, const protocol::Header& header) {
  Guest* worker = books_.guests.worker(link);
  if (worker == nullptr || hall_.send(*worker, header)) return;
  const WorkerIndex index = worker->worker;
  books_.guests.forget(PublicKey(worker->key));  // if it lives it notices our silence, and says hello again
  driver_.tell(lease::WorkerLost{lease, index, link});
}

void Orders::to_client(const SessionId& session, const protocol::Header& header) {
  if (Guest* client = books_.guests.client(session)) hall_.send(*client, header);
}

}  // namespace pounce::daemon
