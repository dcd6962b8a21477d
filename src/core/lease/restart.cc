#include "core/lease/restart.h"

namespace pounce::lease {

void Restart::on(const JournalRead& event) {
  if (!context_.reconciliation.read_journal()) return context_.ignore("the journal a second time");
  for (const JournalRecord& line : event.records) replay(line);
  await_owners();
}

void Restart::await_owners() {
  for (const auto& [id, lease] : context_.leases) {
    if (!lease.owner || context_.sessions.here(lease.owner->session)) continue;
    Session& session = context_.sessions.at(lease.owner->session);
    session.last_seen = context_.now();
    session.awaited_until = context_.now() + context_.times.orphan_grace;
  }
}

void Restart::replay(const JournalRecord& line) {
  if (line.kind == JournalRecord::Kind::kIntent) return replay_intent(line);
  Lease* lease = context_.leases.find(line.lease);
  if (lease == nullptr || lease->over()) return;
  if (line.kind == JournalRecord::Kind::kSubmitted) {
    lease->job = line.job;
    lease->state = LeaseState::kQueued;
    context_.polling.soon(context_.times.poll_min);
  } else {
    lease->owner.reset();
    lease->state = LeaseState::kEnded;
    context_.leases.ended(lease->id);
  }
  const std::vector<Cause> behind = line.why ? std::vector{line.why} : std::vector<Cause>{};
  lease->history.add(context_.now(), {.code = CauseCode::kReadFromJournal, .word = std::string(word(lease->state)), .because = behind});
}

// A second intent of one lease is a new owner. An older lease of the same request had been given up.
void Restart::replay_intent(const JournalRecord& line) {
  const Owner owner{line.session, line.request};
  if (!line.session.empty())
    if (Lease* older = context_.leases.of(owner); older != nullptr && older->id != line.lease) {
      older->owner.reset();
      older->unclaimed_since = context_.now();
    }
  Lease fresh;
  fresh.id = line.lease;
  fresh.state = LeaseState::kSubmitting;
  Lease& lease = context_.leases.add(std::move(fresh));
  if (lease.over()) return;
  lease.resources = line.resources;
  lease.owner.reset();
  if (!line.session.empty()) lease.owner = owner;
  lease.journalled = true;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = context_.now();
  context_.reconciliation.doubt();
  lease.history.add(context_.now(), {.code = CauseCode::kReadFromJournal, .word = "intent"});
}

}  // namespace pounce::lease
