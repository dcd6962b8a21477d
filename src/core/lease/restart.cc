// A new pounced: the journal says what its predecessor knew, the first sweep says what is true. Nothing is submitted
// before both.
#include "core/lease/lease_core.h"

namespace pounce::lease {

void LeaseCore::on(const JournalRead& event) {
  if (journal_read_) return ignore("the journal a second time");
  journal_read_ = true;
  swept_at_ = now_;
  for (const JournalRecord& line : event.records) replay(line);
  for (auto& [id, lease] : leases_) {
    if (!lease.owner || sessions_.contains(lease.owner->session)) continue;
    Session& session = sessions_[lease.owner->session];
    session.heard = now_;
    session.awaited_until = now_ + defaults_.orphan_grace;
  }
}

void LeaseCore::replay(const JournalRecord& line) {
  if (line.kind == JournalRecord::Kind::kIntent) return replay_intent(line);
  Lease* lease = find(line.lease);
  if (lease == nullptr || lease->over()) return;
  if (line.kind == JournalRecord::Kind::kSubmitted) {
    lease->job = line.job;
    lease->state = LeaseState::kQueued;
    poll_soon(defaults_.poll_min);
  } else {
    lease->owner.reset();
    lease->state = LeaseState::kEnded;
    ended_.push_back(lease->id);
  }
  lease->story.add(now_, "journal: " + std::string(word(lease->state)) + " " + line.reason);
}

// A second intent of one lease is a new owner. An older lease of the same want had been given up.
void LeaseCore::replay_intent(const JournalRecord& line) {
  const Owner owner{line.session, line.want};
  if (!line.session.empty())
    if (Lease* older = lease_of(owner); older != nullptr && older->id != line.lease) {
      older->owner.reset();
      older->unclaimed_since = now_;
    }
  const bool known = find(line.lease) != nullptr;
  Lease& lease = leases_[line.lease];
  if (lease.over()) return;
  if (!known) lease.state = LeaseState::kSubmitting;
  lease.id = line.lease;
  lease.resources = line.resources;
  lease.owner.reset();
  if (!line.session.empty()) lease.owner = owner;
  lease.journalled = true;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = now_;
  sweeps_after_doubt_ = 2;
  lease.story.add(now_, "journal: intent");
}

}  // namespace pounce::lease
