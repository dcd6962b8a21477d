// The lease table itself. A row per kind of news, a column per state.
#include "core/lease/table.h"

#include <initializer_list>

namespace pounce::lease {
namespace {

using enum LeaseState;

constexpr Cell to(std::initializer_list<LeaseState> states) {
  Cell cell;
  for (const LeaseState state : states) cell.next |= static_cast<std::uint16_t>(1u << static_cast<int>(state));
  return cell;
}
constexpr Cell no(std::string_view why) { return {0, why}; }

constexpr Cell kW = to({kWanted}), kS = to({kSubmitting}), kQ = to({kQueued}), kT = to({kStarting}),
               kA = to({kIdle, kBusy}), kD = to({kDraining}), kE = to({kEnding}), kX = to({kEnded});
constexpr Cell kSX = to({kSubmitting, kEnded}), kQE = to({kQueued, kEnding}), kQX = to({kQueued, kEnded}),
               kTX = to({kStarting, kEnded}), kAX = to({kIdle, kBusy, kEnded}), kDX = to({kDraining, kEnded}),
               kDE = to({kDraining, kEnding}), kEX = to({kEnding, kEnded}), kTDE = to({kStarting, kDraining, kEnding}),
               kADE = to({kIdle, kBusy, kDraining, kEnding});

constexpr Cell kNone = no("nothing was submitted"), kLate = no("late"), kOver = no("it has ended"),
               kNoWorker = no("no worker yet"), kKnown = no("its job is known");

constexpr Cell kTable[kNewsKinds][kLeaseStates] = {
    // wanted, submitting, queued, starting, idle, busy, draining, ending, ended
    /* kDemandCame */ {kW, kS, kQ, kT, kA, kA, kD, kLate, kOver},
    /* kDemandGone */ {kX, kS, kQE, kT, kA, kA, kD, kLate, kOver},
    /* kOwnerGone */ {kX, kS, kE, kDE, kDE, kDE, kD, kE, kOver},
    /* kSubmitted */ {kNone, kQ, kQ, kT, kA, kA, kD, kE, kX},
    /* kSubmitRefused */ {kNone, kX, kKnown, kKnown, kKnown, kKnown, kKnown, kEX, kOver},
    /* kSubmitUnclear */ {kNone, kS, kKnown, kT, kA, kA, kD, kE, kOver},
    /* kAbsent */ {kNone, kSX, kQX, kTX, kAX, kAX, kDX, kEX, kOver},
    /* kJobUnknown */ {kNone, kS, kQ, kT, kA, kA, kD, kE, kOver},
    /* kJobQueued */ {kNone, kQ, kQ, kT, kA, kA, kD, kE, kX},
    /* kJobRunning */ {kNone, to({kStarting, kIdle, kBusy}), kT, kT, kA, kA, kD, kE, kX},
    /* kJobEnding */ {kNone, kE, kE, kE, kE, kE, kE, kE, kOver},
    /* kJobEnded */ {kNone, kX, kX, kX, kX, kX, kX, kX, kOver},
    /* kJobRequeued */ {kNone, kS, kQ, kE, kE, kE, kE, kE, kOver},
    /* kCancelDone */ {kLate, kLate, kLate, kLate, kLate, kLate, kLate, kE, kOver},
    /* kWorkerConnected */ {kNone, to({kSubmitting, kStarting}), kT, kT, to({kStarting}), to({kStarting}), kD, kE, kX},
    /* kInterpreterStarted */ {kNone, kS, kNoWorker, kA, kA, kA, kLate, kLate, kOver},
    /* kInterpreterDied */ {kNone, kS, kNoWorker, kTDE, kTDE, kTDE, kD, kLate, kOver},
    /* kWorkerHeard */ {kNone, kS, kNoWorker, kT, kA, kA, to({kBusy, kDraining}), kLate, kOver},
    /* kWorkerLost */ {kNone, kS, kNoWorker, kT, kA, kA, kD, kE, kOver},
    /* kTimePassed */ {kS, kS, kE, kDE, kADE, kADE, kE, kE, kOver},
};

}  // namespace

const Cell& cell(LeaseState state, News news) { return kTable[static_cast<int>(news)][static_cast<int>(state)]; }

std::string_view word(News news) {
  constexpr std::string_view kWords[kNewsKinds] = {
      "demand came",      "demand gone",         "owner gone",       "submitted",    "submit refused",
      "submit unclear",   "absent from a sweep", "job unknown",      "job queued",   "job running",
      "job ending",       "job ended",           "job requeued",     "cancel done",  "worker connected",
      "interpreter started", "interpreter died", "worker heard",     "worker lost",  "time passed"};
  return kWords[static_cast<int>(news)];
}

}  // namespace pounce::lease
