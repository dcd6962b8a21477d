// What others see of a lease: its owner is told of it, its workers of their owner, the journal and the status document
// show it. Telling is repeated freely.
#include <algorithm>
#include <string>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- why it is in its state ---------------------------------------------------------------------------------------

namespace {

// With what left it open.
Cause looking(const Lease& lease) {
  Cause why{CauseCode::kLooking};
  for (const HistoryLine& line : lease.history.lines())
    if (line.why.code == CauseCode::kOutcomeUnknown) why.because = line.why.because;
  return why;
}

Cause why_idle(const Core& core, const Lease& lease) {
  if (lease.facts.grace_s > 0) return {CauseCode::kPreempted};
  if (!reusable(core, lease)) return {CauseCode::kReady};
  return {core.look.blind ? CauseCode::kKeptShortly : CauseCode::kKept};
}

Cause why_in_state(const Core& core, const Lease& lease) {
  const RequestState* record = request_of(core, lease);
  if (core.slurm.lost && no_job_runs_yet(lease.state))
    return {.code = CauseCode::kSlurmSilent, .because = {core.slurm.why}};
  switch (lease.state) {
    case LeaseState::kRequested:
      return record != nullptr && record->wait_reason ? record->wait_reason : Cause{CauseCode::kAboutToAsk};
    case LeaseState::kSubmitting:
      return lease.submit_under_way ? Cause{CauseCode::kAsking} : looking(lease);
    case LeaseState::kQueued:
      return {.code = CauseCode::kSlurmWaits, .word = lease.facts.waiting.word};
    case LeaseState::kStarting:
      return {!lease.workers.empty() ? CauseCode::kInterpreterStarts : CauseCode::kJobStarts};
    case LeaseState::kIdle:
      return why_idle(core, lease);
    case LeaseState::kBusy:
      return {lease.facts.grace_s > 0 ? CauseCode::kPreempted : CauseCode::kReady};
    case LeaseState::kDraining:
    case LeaseState::kEnding:
    case LeaseState::kEnded:
      return lease.end ? cause_of(*lease.end) : Cause{CauseCode::kEnds};
  }
  return {};
}

TimePoint submitted_not_before(const Core& core, const Lease& lease) {
  const RequestState* record = request_of(core, lease);
  const bool waits = lease.state == LeaseState::kRequested && record != nullptr;
  return waits ? std::max(record->not_before, record->starts_at) : TimePoint{};
}

}  // namespace

// ---- owners and workers -------------------------------------------------------------------------------------------

void tell_owner(Core& core, const Lease& lease) {
  if (!lease.owner || lease.over()) return;
  TellStatus status;
  status.session = lease.owner->session;
  status.request = lease.owner->request;
  status.lease = lease.id;
  status.state = lease.state;
  status.why = why_in_state(core, lease);
  status.waiting = lease.facts.waiting;
  if (lease.job) status.job = lease.job->job;
  status.node = lease.facts.node;
  status.devices = lease.facts.devices;
  status.start_estimate_s = lease.facts.start_s;
  status.end_time_s = lease.facts.end_s;
  status.given = lease.facts.given;
  status.not_before = submitted_not_before(core, lease);
  core.act(std::move(status));
}

void tell_of_slurm(Core& core, const Result<std::vector<JobView>>& jobs) {
  if (!note_reach(core, jobs.has_value(), jobs ? Cause{} : cause_of(jobs.error()))) return;
  for (const auto& [id, lease] : core.leases)
    if (no_job_runs_yet(lease.state)) tell_owner(core, lease);
}

void introduce(Core& core, const Lease& lease) {
  for (const auto& [index, worker] : lease.workers) introduce(core, lease, index);
}

void introduce(Core& core, const Lease& lease, WorkerIndex index) {
  const Worker& worker = lease.workers.at(index);
  if (!lease.owner || !worker.linked) return;
  core.act(AdmitClient{lease.id, worker.link, lease.owner->session});
  if (worker.ready && lease.active())
    core.act(GrantWorker{lease.owner->session, lease.owner->request, lease.id, index, worker.epoch});
}

Error with_evidence(const Lease& lease, Error error) {
  error.context.try_emplace("lease", lease.id.hex());
  if (lease.job) error.context.try_emplace("job", std::to_string(lease.job->job.value));
  return error;
}

// ---- the journal and the status document --------------------------------------------------------------------------

JournalRecord journal_line(const Lease& lease, JournalRecord::Kind kind, const Cause& why) {
  JournalRecord line;
  line.kind = kind;
  line.lease = lease.id;
  if (kind == JournalRecord::Kind::kIntent) {
    line.resources = lease.resources;
    if (lease.owner) line.session = lease.owner->session, line.request = lease.owner->request;
  }
  if (kind == JournalRecord::Kind::kSubmitted && lease.job) line.job = *lease.job;
  line.why = why;
  return line;
}

LeaseView view_of(const Core& core, const Lease& lease) {
  const RequestState* record = request_of(core, lease);
  LeaseView view;
  view.lease = lease.id;
  view.state = lease.state;
  view.resources = lease.resources;
  view.owner = lease.owner;
  view.job = lease.job;
  view.node = lease.facts.node;
  view.devices = lease.facts.devices;
  view.why = lease.facts.waiting;
  view.start_s = lease.facts.start_s;
  view.end_s = lease.facts.end_s;
  view.given = lease.facts.given;
  view.running = lease.running();
  view.worker_linked = lease.linked();
  view.reason = why_in_state(core, lease);
  view.waiting = record != nullptr ? record->request.waiting : 0;
  view.release_asked = lease.release_asked;
  view.born = lease.born;
  view.since = lease.since;
  view.not_before = submitted_not_before(core, lease);
  const auto ready = std::ranges::count_if(lease.workers, [](const auto& entry) { return entry.second.ready; });
  view.workers_ready = static_cast<std::uint32_t>(ready);
  return view;
}

}  // namespace pounce::lease
