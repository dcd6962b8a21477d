// What is true: Slurm is asked for every job that carries this instance's tag. The answer resolves doubts, adopts what
// is not known, cancels what is too much, and is the only proof of absence. Jobs of another instance are never touched.
// A new pounced begins here: the journal says what its previous instance knew, the first reconciliation says what is
// true, and nothing is submitted before both.
#include <algorithm>
#include <set>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- the journal of the previous instance -------------------------------------------------------------------------

// It fills the leases and the sessions once, before any other rule acts, so the table of transitions does not hold
// here.

namespace {

// A second intent of one lease is a new owner. An older lease of the same request had been given up.
void replay_intent(Core& core, const JournalRecord& line) {
  const Owner owner{line.session, line.request};
  if (!line.session.empty())
    if (Lease* older = lease_of(core, owner); older != nullptr && older->id != line.lease) {
      older->owner.reset();
      older->unclaimed_since = core.now;
    }
  Lease fresh;
  fresh.id = line.lease;
  fresh.state = LeaseState::kSubmitting;
  Lease& lease = add_lease(core, std::move(fresh));
  if (lease.over()) return;
  lease.resources = line.resources;
  lease.owner.reset();
  if (!line.session.empty()) lease.owner = owner;
  lease.journalled = true;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = core.now;
  doubt(core);
  lease.history.add(core.now, {.code = CauseCode::kReadFromJournal, .word = "intent"});
}

void replay(Core& core, const JournalRecord& line) {
  if (line.kind == JournalRecord::Kind::kIntent) return replay_intent(core, line);
  Lease* lease = find_lease(core, line.lease);
  if (lease == nullptr || lease->over()) return;
  if (line.kind == JournalRecord::Kind::kSubmitted) {
    lease->job = line.job;
    lease->state = LeaseState::kQueued;
    poll_soon(core, core.times.poll_min);
  } else {
    lease->owner.reset();
    lease->state = LeaseState::kEnded;
    core.ended.push_back(lease->id);
  }
  const std::vector<Cause> behind = line.why ? std::vector{line.why} : std::vector<Cause>{};
  lease->history.add(core.now,
                     {.code = CauseCode::kReadFromJournal, .word = std::string(word(lease->state)), .because = behind});
}

void await_owners(Core& core) {
  for (const auto& [id, lease] : core.leases) {
    if (!lease.owner || core.sessions.contains(lease.owner->session)) continue;
    Session& session = core.sessions[lease.owner->session];
    session.last_seen = core.now;
    session.awaited_until = core.now + core.times.orphan_grace;
  }
}

}  // namespace

bool read_journal(Core& core) {
  if (core.reconciliation.journal_read) return false;
  core.reconciliation.journal_read = true;
  core.reconciliation.answered_at = core.now;
  return true;
}

void on(Core& core, const JournalRead& event) {
  if (!read_journal(core)) return core.ignore();
  for (const JournalRecord& line : event.records) replay(core, line);
  await_owners(core);
}

// ---- when Slurm is asked ------------------------------------------------------------------------------------------

namespace {

bool in_doubt(const Core& core) {
  return std::ranges::any_of(core.leases, [](const auto& entry) {
    const Lease& lease = entry.second;
    if (lease.over() || lease.state == LeaseState::kRequested || lease.submit_under_way) return false;
    const bool unproven = lease.state == LeaseState::kSubmitting && (!lease.job || !lease.journalled);
    const bool unnamed = lease.state >= LeaseState::kDraining && !lease.identified();
    return unproven || unnamed || lease.absent > 0;
  });
}

TimePoint next_reconciliation(const Core& core) {
  const Reconciliation& known = core.reconciliation;
  const bool live = std::ranges::any_of(core.leases, [](const auto& entry) {
    return entry.second.state != LeaseState::kRequested && !entry.second.over();
  });
  if (!known.done_once) return known.answered_at + known.wait;
  if (core.slurm.lost) return known.answered_at + std::max<Duration>(known.wait, core.times.poll_min);
  if (in_doubt(core)) return known.answered_at + core.times.poll_min;
  if (live || known.rounds_needed > 0) return known.answered_at + core.times.reconcile_interval;
  return TimePoint::max();
}

}  // namespace

void doubt(Core& core, std::uint32_t rounds) {
  core.reconciliation.rounds_needed = std::max(core.reconciliation.rounds_needed, rounds);
}

void settle_reconciliation(Core& core) {
  if (!core.reconciliation.journal_read || core.reconciliation.under_way) return;
  const TimePoint when = next_reconciliation(core);
  if (when == TimePoint::max() || !core.due(when)) return;
  core.reconciliation.under_way = true;
  ++core.reconciliation.begun;
  ++core.counters.reconciles;
  ReconcileJobs order;
  for (const auto& [id, lease] : core.leases)
    if (!lease.over() && lease.unheard()) order.unheard.push_back(lease.job->job);
  core.act(std::move(order));
}

bool reconciliation_answered(Core& core, bool reached) {
  Reconciliation& known = core.reconciliation;
  if (!known.under_way) return false;
  known.under_way = false;
  known.answered_at = core.now;
  if (!reached) {
    known.wait = std::clamp<Duration>(known.wait * 2, core.times.poll_min, core.times.poll_max);
    return true;
  }
  known.wait = {};
  known.done_once = true;
  if (known.rounds_needed > 0 && !in_doubt(core)) --known.rounds_needed;
  return true;
}

bool note_reach(Core& core, bool reached, const Cause& why) {
  if (reached != core.slurm.lost) return false;
  core.slurm.lost = !reached;
  if (reached) core.slurm.back_since = core.now;
  core.slurm.why = why;
  core.changed = true;
  return true;
}

Lease& take_on_trust(Core& core, const LeaseId& id) {
  Lease lease;
  lease.id = id;
  lease.state = LeaseState::kSubmitting;
  lease.born = lease.since = lease.last_busy = lease.unclaimed_since = core.now;
  lease.doubt_from = core.reconciliation.begun;
  lease.history.add(core.now, CauseCode::kFirstHeardOf);
  doubt(core);
  core.changed = true;
  return add_lease(core, std::move(lease));
}

// ---- what its answer shows ----------------------------------------------------------------------------------------

namespace {

// A late submission can surface between two reconciliations, but not after two that began later than the doubt,
// poll_min apart.
constexpr std::uint32_t kAbsentTwice = 2;

bool runs_or_waits(const JobView& view) { return view.state == JobState::kQueued || view.state == JobState::kRunning; }

// It ended while no pounced watched it, and no journal tells of it: a session that held it is told how, once it is
// here.
void remember_end(Core& core, const JobView& view) {
  Lease lease;
  lease.id = *view.lease;
  lease.state = LeaseState::kEnded;
  lease.born = lease.since = core.now;
  lease.resources = view.resources;
  lease.job = view.job_identity;
  lease.journalled = true;
  lease.end = job::error_of_end(view);
  lease.end->context.try_emplace("lease", lease.id.hex());
  lease.history.add(core.now, cause_of(*lease.end));
  core.ended.push_back(lease.id);
  add_lease(core, std::move(lease));
}

// A late worker spoke for a job that Slurm shows as ended: there is nothing to wait for. A worker that came after this
// reconciliation began may know better.
void over_already(Core& core, Lease& lease, const JobView& view) {
  const bool another_run =
      lease.job && (lease.job->job != view.job_identity.job || lease.job->restart > view.job_identity.restart);
  if (another_run || core.reconciliation.begun <= lease.doubt_from || !accept(core, lease, Trigger::kJobEnded)) return;
  const Error why = job::error_of_end(view);
  end_workers(core, lease, cause_of(why), false);
  finish(core, lease, why);
}

// A job with our tag that is not known, or only on a worker's word: after a restart without a journal.
Lease& adopt(Core& core, const JobView& view) {
  Lease* known = find_lease(core, *view.lease);
  Lease& lease = known != nullptr ? *known : take_on_trust(core, *view.lease);
  lease.resources = view.resources;
  if (lease.resources.class_name.empty()) lease.resources.class_name = view.class_name;
  lease.last_busy = lease.unclaimed_since = core.now;
  lease.journalled = true;
  lease.history.add(core.now, CauseCode::kFound);
  core.act(RecordOutcome{journal_line(lease, JournalRecord::Kind::kIntent)});
  return lease;
}

void shown(Core& core, const JobView& view) {
  Lease* lease = find_lease(core, *view.lease);
  const bool known = lease != nullptr && (lease->journalled || lease->over());
  const bool other = known && lease->job && lease->job->job != view.job_identity.job;
  if (known && (other || lease->over())) {
    if (runs_or_waits(view)) cancel_excess(core, view.job_identity);
    return;
  }
  if (!known && lease != nullptr && view.state == JobState::kEnded) return over_already(core, *lease, view);
  if (!known && (view.state == JobState::kEnded || view.state == JobState::kEnding)) return;
  job_seen(core, known ? *lease : adopt(core, view), view);
}

bool may_be_absent(const Core& core, const Lease& lease) {
  const bool vouched = lease.journalled && lease.linked() && core.now - lease.last_seen <= core.times.worker_silence;
  return !lease.submit_under_way && core.reconciliation.begun > lease.doubt_from && !vouched;
}

void not_shown(Core& core, Lease& lease) {
  if (!may_be_absent(core, lease) || !accept(core, lease, Trigger::kAbsent)) return;
  ++lease.absent;
  core.changed = true;
  if (lease.absent < kAbsentTwice) {
    lease.history.add(core.now, CauseCode::kNotFound);
    return poll_soon(core, Duration{});
  }
  doubt(core, 1);
  const Cause unknown{.code = CauseCode::kUnknownToSlurm, .job = lease.job ? lease.job->job.value : 0};
  end_workers(core, lease, unknown, false);
  if (!lease.job) lease.owner.reset();  // there never was a job: its request just tries again
  finish(core, lease, error_of(ErrorCode::kLeaseEnded, unknown));
}

}  // namespace

void on(Core& core, const ReconcileDone& event) {
  const bool first = !core.reconciliation.done_once;
  if (!reconciliation_answered(core, event.jobs.has_value())) return core.ignore();
  tell_of_slurm(core, event.jobs);
  if (!event.jobs) return;
  std::set<LeaseId> seen;
  for (const JobView& view : *event.jobs) {
    if (view.instance != core.instance || !view.lease) continue;
    seen.insert(*view.lease);
    if (first && view.state == JobState::kEnded && find_lease(core, *view.lease) == nullptr) remember_end(core, view);
    shown(core, view);
  }
  for (auto& [id, lease] : core.leases)
    if (!lease.over() && lease.state != LeaseState::kRequested && !seen.contains(id)) not_shown(core, lease);
  if (first) answer_all_holds(core);
  offer_spares(core);
}

}  // namespace pounce::lease
