// The lease table: a row per trigger, a column per state. Then what holds by it: the only way of a lease from one
// state to another, and the invariants that hold after each event (docs/states.md).
#include <initializer_list>
#include <optional>
#include <set>
#include <string>

#include "core/lease/rules.h"

namespace pounce::lease {
namespace {

using enum LeaseState;

constexpr Cell to(std::initializer_list<LeaseState> states) {
  Cell cell;
  for (const LeaseState state : states) cell.next |= static_cast<std::uint16_t>(1u << static_cast<int>(state));
  return cell;
}
constexpr Cell no(std::string_view why) { return {0, why}; }

// One letter per state, in the order of LeaseState: Wanted, Submitting, Queued, sTarting, Idle, Busy, Draining, Ending,
// X.
constexpr Cell kW = to({kRequested}), kS = to({kSubmitting}), kQ = to({kQueued}), kT = to({kStarting}),
               kI = to({kIdle}), kB = to({kBusy}), kD = to({kDraining}), kE = to({kEnding}), kX = to({kEnded});
constexpr Cell kWX = to({kRequested, kEnded}), kIDE = to({kIdle, kDraining, kEnding}),
               kBDE = to({kBusy, kDraining, kEnding});
constexpr Cell kST = to({kSubmitting, kStarting}), kSX = to({kSubmitting, kEnded}), kQE = to({kQueued, kEnding}),
               kQX = to({kQueued, kEnded}), kTIB = to({kStarting, kIdle, kBusy}), kTX = to({kStarting, kEnded}),
               kIB = to({kIdle, kBusy}), kIX = to({kIdle, kEnded}), kBX = to({kBusy, kEnded}),
               kBD = to({kBusy, kDraining}), kDX = to({kDraining, kEnded}), kDE = to({kDraining, kEnding}),
               kEX = to({kEnding, kEnded}), kTDE = to({kStarting, kDraining, kEnding}), kTI = to({kStarting, kIdle}),
               kTB = to({kStarting, kBusy}), kTIDE = to({kStarting, kIdle, kDraining, kEnding}),
               kTIBDE = to({kStarting, kIdle, kBusy, kDraining, kEnding});

constexpr Cell kNone = no("nothing was submitted"), kLate = no("late"), kOver = no("it has ended"),
               kNoWorker = no("no worker yet"), kKnown = no("its job is known"), kNoTime = no("no deadline of its own"),
               kNotReused = no("it is not kept warm");

// clang-format off
constexpr Cell kTable[kTriggers][kLeaseStates] = {
    //                        req.   submitt. queued     starting  idle    busy    drain.  ending  ended
    /* kDemandCame */         {kW,    kS,     kQ,        kT,       kB,     kB,     kD,     kLate,  kOver},
    /* kDemandGone */         {kX,    kS,     kQE,       kT,       kI,     kIB,    kD,     kLate,  kOver},
    /* kOwnerGone */          {kX,    kS,     kE,        kDE,      kDE,    kDE,    kD,     kE,     kOver},
    /* kReleaseAsked */       {kWX,   kS,     kQE,       kTDE,     kIDE,   kBDE,   kD,     kE,     kOver},
    /* kSubmitted */          {kNone, kQ,     kQ,        kT,       kI,     kB,     kD,     kE,     kX},
    /* kSubmitRefused */      {kNone, kX,     kKnown,    kKnown,   kKnown, kKnown, kKnown, kX,     kOver},
    /* kSubmitUnclear */      {kNone, kS,     kKnown,    kT,       kI,     kB,     kD,     kE,     kOver},
    /* kAbsent */             {kNone, kSX,    kQX,       kTX,      kIX,    kBX,    kDX,    kEX,    kOver},
    /* kJobUnknown */         {kNone, kS,     kQ,        kT,       kI,     kB,     kD,     kE,     kOver},
    /* kJobQueued */          {kNone, kQ,     kQ,        kT,       kI,     kB,     kD,     kE,     kX},
    /* kJobRunning */         {kNone, kTIB,   kT,        kT,       kI,     kB,     kD,     kE,     kX},
    /* kJobEnding */          {kNone, kE,     kE,        kE,       kE,     kE,     kE,     kE,     kOver},
    /* kJobEnded */           {kNone, kX,     kX,        kX,       kX,     kX,     kX,     kX,     kOver},
    /* kJobRequeued */        {kNone, kS,     kQ,        kE,       kE,     kE,     kE,     kE,     kOver},
    /* kCancelDone */         {kLate, kLate,  kLate,     kLate,    kLate,  kLate,  kLate,  kE,     kOver},
    /* kWorkerConnected */    {kNone, kST,    kT,        kT,       kTI,    kTB,    kD,     kE,     kX},
    /* kInterpreterStarted */ {kNone, kS,     kNoWorker, kIB,      kI,     kB,     kLate,  kLate,  kOver},
    /* kInterpreterDied */    {kNone, kS,     kNoWorker, kTDE,     kTIDE,  kTIBDE,   kD,     kLate,  kOver},
    /* kWorkerSeen */        {kNone, kS,     kNoWorker, kT,       kIB,    kIB,    kBD,    kLate,  kOver},
    /* kWorkerLost */         {kNone, kS,     kNoWorker, kT,       kI,     kB,     kD,     kE,     kOver},
    /* kOtherJobWaits */      {kNone, kNotReused, kNotReused, kDE, kDE,  kNotReused, kNotReused, kNotReused, kOver},
    /* kTimePassed */         {kS,    kNoTime, kE,       kDE,      kDE,    kDE,    kE,     kE,     kOver},
};
// clang-format on

}  // namespace

const Cell& cell(LeaseState state, Trigger trigger) {
  return kTable[static_cast<int>(trigger)][static_cast<int>(state)];
}

std::string_view word(Trigger trigger) {
  constexpr std::string_view kWords[kTriggers] = {
      "demand came",         "demand gone",      "owner gone",     "release asked",
      "submitted",           "submit refused",   "submit unclear", "absent from a reconciliation",
      "job unknown",         "job queued",       "job running",    "job ending",
      "job ended",           "job requeued",     "cancel done",    "worker connected",
      "interpreter started", "interpreter died", "worker heard",   "worker lost",
      "another job waits",   "time passed"};
  return kWords[static_cast<int>(trigger)];
}

// ---- from one state to another ------------------------------------------------------------------------------------

bool accept(Core& core, Lease& lease, Trigger trigger) {
  core.answer = &cell(lease.state, trigger);
  core.answer_for = lease.id;
  if (core.answer->next != 0) return true;
  lease.history.add(
      core.now,
      {.code = CauseCode::kIgnored, .word = std::string(word(trigger)), .said = std::string(core.answer->ignored)});
  core.ignore();
  return false;
}

void enter(Core& core, Lease& lease, LeaseState state, const Cause& why) {
  if (state == lease.state) return;
  const bool allowed = core.answer != nullptr && core.answer_for == lease.id && core.answer->allows(state);
  if (!allowed && core.breach.empty())
    core.breach = "lease " + lease.id.hex() + " went from " + std::string(word(lease.state)) + " to " +
                  std::string(word(state)) + " against the table: " + std::string(words(why.code).of(why.code));
  const bool was_active = lease.active();
  lease.history.enter(core.now, lease.state, state, why);
  lease.state = state;
  lease.since = core.now;
  core.changed = true;
  if (!(was_active && lease.active())) tell_owner(core, lease);
}

void refresh(Core& core, Lease& lease) {
  if (!lease.active() && !(lease.state == LeaseState::kStarting && lease.ready())) return;
  const RequestState* record = request_of(core, lease);
  const bool demanded = record != nullptr && record->demanded();
  enter(core, lease, demanded || lease.running() > 0 ? LeaseState::kBusy : LeaseState::kIdle,
        demanded ? CauseCode::kTasksWait : CauseCode::kReady);
}

// ---- invariants ---------------------------------------------------------------------------------------------------

namespace {

std::string named(const Lease& lease) {
  return "lease " + lease.id.hex() + " (" + std::string(word(lease.state)) + ") ";
}

std::optional<std::string> broken_by_itself(const Core& core, const Lease& lease) {
  if (lease.over()) {
    if (lease.owner || !lease.workers.empty()) return "has ended and keeps its owner or workers";
    return std::nullopt;
  }
  if (lease.owner && !core.sessions.contains(lease.owner->session)) return "belongs to no session that is here";
  if (lease.owner && lease.end && lease.state != LeaseState::kDraining && !lease.may_run)
    return "ends and still has an owner";
  if (lease.state == LeaseState::kRequested && (!lease.owner || lease.job || lease.journalled))
    return "is more than requested";
  if (lease.state > LeaseState::kRequested && !lease.journalled && lease.state != LeaseState::kSubmitting)
    return "acts without a line in the journal";
  if (lease.state == LeaseState::kQueued && !lease.job) return "is queued without a job";
  if (lease.state == LeaseState::kQueued && lease.owner && !needed(core, lease))
    return "waits in the queue for no request (I7)";
  if (lease.active() && !lease.ready()) return "is active without an interpreter";
  const RequestState* record = request_of(core, lease);
  const bool busy = (record != nullptr && record->demanded()) || lease.running() > 0;
  if (lease.active() && busy != (lease.state == LeaseState::kBusy)) return "is not what its tasks say (I8)";
  if (lease.state == LeaseState::kIdle && core.now >= lease.last_busy + kept(core))
    return "is idle and was not given back (I8)";
  if (lease.state == LeaseState::kEnding && !lease.end && !lease.job_ending) return "ends without a reason";
  for (const auto& [index, worker] : lease.workers)
    if (worker.died && *worker.died > worker.epoch) return "an epoch of its workers shrank (I2)";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const Core& core) {
  if (!core.breach.empty()) return core.breach;
  if (core.deadline <= core.now) return "a deadline that is past was left undone";
  std::set<Owner> owners;
  std::set<JobIdentity> jobs;
  for (const auto& [id, lease] : core.leases) {
    if (auto broken = broken_by_itself(core, lease)) return named(lease) + *broken;
    if (lease.owner && !owners.insert(*lease.owner).second) return named(lease) + "is its request's second lease (I7)";
    // Slurm uses ids again: until its old job's end is known, a lease may name the same id as another.
    const bool exact = lease.job && lease.job->submit_time_s != 0;
    if (exact && !lease.over() && !jobs.insert(*lease.job).second)
      return named(lease) + "shares its job with another lease (I1)";
  }
  if (core.reconciliation.journal_read)
    for (const auto& [session, record] : core.sessions)
      for (const auto& [id, entry] : record.requests)
        if (entry.request.waiting > 0 && !entry.failed && !owners.contains(Owner{session, id}))
          return "request " + std::to_string(id.value) + " of session " + session.hex() + " waits for nothing (I9)";
  return std::nullopt;
}

}  // namespace pounce::lease
