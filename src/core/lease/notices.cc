#include "core/lease/notices.h"

#include <algorithm>

namespace pounce::lease {
namespace {

TimePoint not_before(const RequestState* record) { return record != nullptr ? std::max(record->not_before, record->starts_at) : TimePoint{}; }

}  // namespace

void Notices::tell(const Lease& lease) {
  if (!lease.owner || lease.over()) return;
  TellStatus status{lease.owner->session, lease.owner->request, lease.id, lease.state, why(lease),
                    lease.facts.waiting, {}, lease.facts.node, lease.facts.devices,
                    lease.facts.start_s, lease.facts.end_s};
  if (lease.job) status.job = lease.job->job;
  if (lease.state == LeaseState::kRequested) status.not_before = not_before(context_.sessions.request_of(lease));
  context_.act(std::move(status));
}

void Notices::slurm_answered(const Result<std::vector<JobView>>& jobs) {
  if (!context_.slurm.note(jobs.has_value(), jobs ? Cause{} : cause_of(jobs.error()))) return;
  for (const auto& [id, lease] : context_.leases)
    if (lease.state <= LeaseState::kQueued) tell(lease);
}

void Notices::introduce(const Lease& lease) {
  for (const auto& [index, worker] : lease.workers) introduce(lease, index);
}

void Notices::introduce(const Lease& lease, WorkerIndex index) {
  const Worker& worker = lease.workers.at(index);
  if (!lease.owner || !worker.linked) return;
  context_.act(AdmitClient{lease.id, worker.link, lease.owner->session});
  if (worker.ready && lease.active())
    context_.act(GrantWorker{lease.owner->session, lease.owner->request, lease.id, index, worker.epoch});
}

namespace {

// With what left it open.
Cause looking(const Lease& lease) {
  Cause why{CauseCode::kLooking};
  for (const HistoryLine& line : lease.history.lines())
    if (line.why.code == CauseCode::kOutcomeUnknown) why.because = line.why.because;
  return why;
}

}  // namespace

Cause Notices::why(const Lease& lease) const {
  const RequestState* record = context_.sessions.request_of(lease);
  if (context_.slurm.lost() && lease.state <= LeaseState::kQueued)
    return {.code = CauseCode::kSlurmSilent, .because = {context_.slurm.why()}};
  const bool preempted = lease.facts.grace_s > 0;
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
      if (preempted) return {CauseCode::kPreempted};
      if (!idle_.reusable(lease)) return {CauseCode::kReady};
      return {idle_.blind() ? CauseCode::kKeptShortly : CauseCode::kKept};
    case LeaseState::kBusy:
      return {preempted ? CauseCode::kPreempted : CauseCode::kReady};
    case LeaseState::kDraining:
    case LeaseState::kEnding:
    case LeaseState::kEnded:
      return lease.end ? cause_of(*lease.end) : Cause{CauseCode::kEnds};
  }
  return {};
}

LeaseView Notices::view_of(const Lease& lease) const {
  const RequestState* record = context_.sessions.request_of(lease);
  return {lease.id, lease.state, lease.resources, lease.owner, lease.job, lease.facts.node, lease.facts.devices,
          lease.facts.waiting, lease.facts.start_s, lease.facts.end_s,
          lease.running(), lease.linked(), why(lease), record != nullptr ? record->request.waiting : 0,
          lease.release_asked, lease.born, lease.since, lease.state == LeaseState::kRequested ? not_before(record) : TimePoint{},
          static_cast<std::uint32_t>(std::ranges::count_if(
              lease.workers, [](const auto& entry) { return entry.second.ready; }))};
}

}  // namespace pounce::lease
