#include "core/lease/findings.h"

#include <set>

#include "core/lease/job_end.h"

namespace pounce::lease {
namespace {

bool alive(const JobView& view) { return view.state == JobState::kQueued || view.state == JobState::kRunning; }

// A late submission can surface between two reconciliations, but not after two that began later than the doubt, poll_min apart.
constexpr std::uint32_t kAbsentTwice = 2;

}  // namespace

void Findings::on(const ReconcileDone& event) {
  const bool first = !context_.reconciliation.done_once();
  if (!context_.reconciliation.answered(event.jobs.has_value())) return context_.ignore("a reconciliation nobody asked for");
  notices_.slurm_answered(event.jobs);
  if (!event.jobs) return;
  std::set<LeaseId> seen;
  for (const JobView& view : *event.jobs) {
    if (view.instance != context_.instance || !view.lease) continue;
    seen.insert(*view.lease);
    if (first && view.state == JobState::kEnded && context_.leases.find(*view.lease) == nullptr) remember_end(view);
    found(view);
  }
  for (auto& [id, lease] : context_.leases)
    if (!lease.over() && lease.state != LeaseState::kRequested && !seen.contains(id)) missed(lease);
  if (first) demand_.answer_all_holds();
  demand_.offer_spares();
}

void Findings::found(const JobView& view) {
  Lease* lease = context_.leases.find(*view.lease);
  const bool known = lease != nullptr && (lease->journalled || lease->over());
  const bool other = known && lease->job && lease->job->job != view.job_identity.job;
  if (known && (other || lease->over())) {
    if (alive(view)) ending_.cancel_excess(view.job_identity, "a job too many of lease " + lease->id.hex());
    return;
  }
  if (!known && lease != nullptr && view.state == JobState::kEnded) return over_already(*lease, view);
  if (!known && (view.state == JobState::kEnded || view.state == JobState::kEnding)) return;
  jobs_.seen(known ? *lease : adopt(view), view);
}

// A late worker spoke for a job that Slurm shows as ended: there is nothing to wait for. One that came after this
// reconciliation began may know better.
void Findings::over_already(Lease& lease, const JobView& view) {
  const bool another_run = lease.job && (lease.job->job != view.job_identity.job || lease.job->restart > view.job_identity.restart);
  if (another_run || context_.reconciliation.begun() <= lease.doubt_from || !transitions_.accept(lease, News::kJobEnded)) return;
  const Error why = error_of_end(view);
  ending_.send_away(lease, cause_of(why), false);
  ending_.finish(lease, why);
}

// It ended while no pounced watched it, and no journal tells of it: whoever held it is told how, once they are here.
void Findings::remember_end(const JobView& view) {
  Lease lease;
  lease.id = *view.lease;
  lease.state = LeaseState::kEnded;
  lease.born = lease.since = context_.now();
  lease.resources = view.resources;
  lease.job = view.job_identity;
  lease.journalled = true;
  lease.end = error_of_end(view);
  lease.end->context.try_emplace("lease", lease.id.hex());
  lease.history.add(context_.now(), cause_of(*lease.end));
  context_.leases.ended(lease.id);
  context_.leases.add(std::move(lease));
}

// A job with our tag that is not known, or only on a worker's word: after a restart without a journal.
Lease& Findings::adopt(const JobView& view) {
  Lease* known = context_.leases.find(*view.lease);
  Lease& lease = known != nullptr ? *known : context_.reconciliation.take_on_trust(*view.lease);
  lease.resources = view.resources;
  if (lease.resources.class_name.empty()) lease.resources.class_name = view.class_name;
  lease.last_busy = lease.unclaimed_since = context_.now();
  lease.journalled = true;
  lease.history.add(context_.now(), CauseCode::kFound);
  context_.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kIntent)});
  return lease;
}

bool Findings::may_be_absent(const Lease& lease) const {
  const bool vouched = lease.journalled && lease.linked() && context_.now() - lease.last_seen <= context_.times.worker_silence;
  return !lease.submit_under_way && context_.reconciliation.begun() > lease.doubt_from && !vouched;
}

void Findings::missed(Lease& lease) {
  if (!may_be_absent(lease) || !transitions_.accept(lease, News::kAbsent)) return;
  ++lease.absent;
  context_.change();
  if (lease.absent < kAbsentTwice) {
    lease.history.add(context_.now(), CauseCode::kNotFound);
    return context_.polling.soon(Duration{});
  }
  context_.reconciliation.doubt(1);
  const Cause unknown{.code = CauseCode::kUnknownToSlurm, .job = lease.job ? lease.job->job.value : 0};
  ending_.send_away(lease, unknown, false);
  if (!lease.job) lease.owner.reset();  // there never was a job: its request just tries again
  ending_.finish(lease, error_of(ErrorCode::kLeaseEnded, unknown));
}

}  // namespace pounce::lease
