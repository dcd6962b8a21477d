#include "core/lease/lease_deadlines.h"

#include <algorithm>

namespace pounce::lease {

void LeaseDeadlines::settle(Lease& lease) {
  if (lease.end) {  // decided while its submission was under way
    if (transitions_.accept(lease, News::kOwnerGone)) ending_.give_back(lease, *lease.end);
    return;
  }
  note_silence(lease);
  if (worker_lost(lease)) {
    if (transitions_.accept(lease, News::kTimePassed)) ending_.give_up(lease);
    return;
  }
  const bool needed = context_.sessions.needed(lease);
  if (lease.owner && !needed && lease.state == LeaseState::kQueued) {
    transitions_.accept(lease, News::kDemandGone);
    return ending_.give_back(lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kNothingWaits));
  }
  if (const auto why = passed(lease)) {
    if (!transitions_.accept(lease, News::kTimePassed)) return;
    if (lease.state == LeaseState::kStarting && needed) requests_.count_bad_start(lease, *why);
    ending_.give_back(lease, *why, lease.state == LeaseState::kIdle);
  }
}

// Where Slurm does not answer either, it is perhaps us who cannot be reached.
bool LeaseDeadlines::worker_lost(const Lease& lease) {
  if (lease.workers.empty() || context_.slurm.lost()) return false;
  return context_.due(std::max(lease.last_seen, context_.slurm.back_since()) + context_.times.lost_after);
}

std::optional<Error> LeaseDeadlines::passed(const Lease& lease) {
  const auto ended = [](CauseCode why) { return error_of(ErrorCode::kLeaseEnded, why); };
  const Defaults& times = context_.times;
  const bool idle = idle_.unneeded(lease);
  if (lease.state == LeaseState::kStarting && context_.due(lease.since + times.hello_deadline))
    return ended(CauseCode::kNoInterpreter);
  if (idle && lease.release_asked) return ended(CauseCode::kReleasedWhenIdle);
  if (idle && context_.due(lease.last_busy + idle_.kept()))
    return ended(CauseCode::kIdle);
  if (!lease.owner && !idle && context_.due(lease.unclaimed_since + times.orphan_grace))
    return ended(CauseCode::kUnclaimed);
  return std::nullopt;
}

void LeaseDeadlines::note_silence(Lease& lease) {
  if (!lease.linked() || lease.silence_noted) return;
  if (!context_.due(lease.last_seen + context_.times.worker_silence)) return;
  lease.silence_noted = true;
  lease.history.add(context_.now(), {.code = CauseCode::kWorkersSilent, .number = static_cast<std::uint32_t>(lease.workers.size())});
  context_.polling.soon(Duration{});
}

}  // namespace pounce::lease
