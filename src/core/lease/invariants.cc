// What must hold after each event (docs/states.md, Invariants).
#include <set>

#include "base/check.h"
#include "core/lease/lease_core.h"

namespace pounce::lease {
namespace {

std::string of(const Lease& lease) { return "lease " + lease.id.hex() + " (" + std::string(word(lease.state)) + ") "; }

}  // namespace

std::optional<std::string> LeaseCore::broken_invariant() const {
  if (!breach_.empty()) return breach_;
  if (deadline_ <= now_) return "a deadline that is past was left undone";
  std::set<Owner> owners;
  std::set<Incarnation> jobs;
  for (const auto& [id, lease] : leases_) {
    if (auto broken = broken_by_itself(lease)) return of(lease) + *broken;
    if (lease.owner && !owners.insert(*lease.owner).second) return of(lease) + "is its want's second lease (I7)";
    // Slurm uses ids again: until its old job's end is known, a lease may name the same id as another.
    const bool exact = lease.job && lease.job->submit_time_s != 0;
    if (exact && !lease.over() && !jobs.insert(*lease.job).second)
      return of(lease) + "shares its job with another lease (I1)";
  }
  if (journal_read_)
    for (const auto& [session, book] : sessions_)
      for (const auto& [id, entry] : book.wants)
        if (entry.want.waiting > 0 && !entry.failed && !owners.contains(Owner{session, id}))
          return "want " + std::to_string(id.value) + " of session " + session.hex() + " waits for nothing (I9)";
  return std::nullopt;
}

std::optional<std::string> LeaseCore::broken_by_itself(const Lease& lease) const {
  if (lease.over()) {
    if (lease.owner || !lease.workers.empty()) return "has ended and keeps its owner or workers";
    return std::nullopt;
  }
  if (lease.owner && !sessions_.contains(lease.owner->session)) return "belongs to nobody who is here";
  if (lease.owner && lease.end && lease.state != LeaseState::kDraining && !lease.lost()) return "ends and still belongs to somebody";
  if (lease.state == LeaseState::kWanted && (!lease.owner || lease.job || lease.journalled)) return "is more than wanted";
  if (lease.state > LeaseState::kWanted && !lease.journalled && lease.state != LeaseState::kSubmitting)
    return "acts without a line in the journal";
  if (lease.state == LeaseState::kQueued && !lease.job) return "is queued without a job";
  if (lease.state == LeaseState::kQueued && lease.owner && !needed(lease)) return "waits in the queue for nobody (I7)";
  if (lease.active() && !lease.ready()) return "is active without an interpreter";
  const WantBook* book = want_of(lease);
  const bool busy = (book != nullptr && book->demanded()) || lease.running() > 0;
  if (lease.active() && busy != (lease.state == LeaseState::kBusy)) return "is not what its tasks say (I8)";
  if (lease.state == LeaseState::kIdle && now_ >= lease.last_busy + kept())
    return "is idle and was not given back (I8)";
  if (lease.state == LeaseState::kEnding && !lease.end && !lease.job_ending) return "ends without a reason";
  for (const auto& [index, worker] : lease.workers)
    if (worker.died && *worker.died > worker.epoch) return "an epoch of its workers shrank (I2)";
  return std::nullopt;
}

void LeaseCore::check_invariants() const {
  const auto broken = broken_invariant();
  POUNCE_CHECK(!broken, broken ? broken->c_str() : "");
}

}  // namespace pounce::lease
