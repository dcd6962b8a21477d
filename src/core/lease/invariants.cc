#include "core/lease/invariants.h"

#include <set>

namespace pounce::lease {
namespace {

std::string of(const Lease& lease) { return "lease " + lease.id.hex() + " (" + std::string(word(lease.state)) + ") "; }

std::optional<std::string> broken_by_itself(const Lease& lease, const Context& context, const IdleReuse& idle) {
  if (lease.over()) {
    if (lease.owner || !lease.workers.empty()) return "has ended and keeps its owner or workers";
    return std::nullopt;
  }
  if (lease.owner && !context.sessions.here(lease.owner->session)) return "belongs to nobody who is here";
  if (lease.owner && lease.end && lease.state != LeaseState::kDraining && !lease.may_run) return "ends and still belongs to somebody";
  if (lease.state == LeaseState::kRequested && (!lease.owner || lease.job || lease.journalled)) return "is more than wanted";
  if (lease.state > LeaseState::kRequested && !lease.journalled && lease.state != LeaseState::kSubmitting)
    return "acts without a line in the journal";
  if (lease.state == LeaseState::kQueued && !lease.job) return "is queued without a job";
  if (lease.state == LeaseState::kQueued && lease.owner && !context.sessions.needed(lease)) return "waits in the queue for nobody (I7)";
  if (lease.active() && !lease.ready()) return "is active without an interpreter";
  const RequestState* record = context.sessions.request_of(lease);
  const bool busy = (record != nullptr && record->demanded()) || lease.running() > 0;
  if (lease.active() && busy != (lease.state == LeaseState::kBusy)) return "is not what its tasks say (I8)";
  if (lease.state == LeaseState::kIdle && context.now() >= lease.last_busy + idle.kept())
    return "is idle and was not given back (I8)";
  if (lease.state == LeaseState::kEnding && !lease.end && !lease.job_ending) return "ends without a reason";
  for (const auto& [index, worker] : lease.workers)
    if (worker.died && *worker.died > worker.epoch) return "an epoch of its workers shrank (I2)";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const Context& context, const IdleReuse& idle, const Transitions& transitions) {
  if (!transitions.breach().empty()) return transitions.breach();
  if (context.deadline() <= context.now()) return "a deadline that is past was left undone";
  std::set<Owner> owners;
  std::set<JobIdentity> jobs;
  for (const auto& [id, lease] : context.leases) {
    if (auto broken = broken_by_itself(lease, context, idle)) return of(lease) + *broken;
    if (lease.owner && !owners.insert(*lease.owner).second) return of(lease) + "is its request's second lease (I7)";
    // Slurm uses ids again: until its old job's end is known, a lease may name the same id as another.
    const bool exact = lease.job && lease.job->submit_time_s != 0;
    if (exact && !lease.over() && !jobs.insert(*lease.job).second)
      return of(lease) + "shares its job with another lease (I1)";
  }
  if (context.reconciliation.journal_read())
    for (const auto& [session, record] : context.sessions)
      for (const auto& [id, entry] : record.requests)
        if (entry.request.waiting > 0 && !entry.failed && !owners.contains(Owner{session, id}))
          return "request " + std::to_string(id.value) + " of session " + session.hex() + " waits for nothing (I9)";
  return std::nullopt;
}

}  // namespace pounce::lease
