// The lease table itself. A row per kind of news, a column per state.
#include "core/lease/transition_table.h"

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

// One letter per state, in the order of LeaseState: Wanted, Submitting, Queued, sTarting, Idle, Busy, Draining, Ending, X.
constexpr Cell kW = to({kRequested}), kS = to({kSubmitting}), kQ = to({kQueued}), kT = to({kStarting}), kI = to({kIdle}),
               kB = to({kBusy}), kD = to({kDraining}), kE = to({kEnding}), kX = to({kEnded});
constexpr Cell kWX = to({kRequested, kEnded}), kIDE = to({kIdle, kDraining, kEnding}),
               kBDE = to({kBusy, kDraining, kEnding});
constexpr Cell kST = to({kSubmitting, kStarting}), kSX = to({kSubmitting, kEnded}), kQE = to({kQueued, kEnding}),
               kQX = to({kQueued, kEnded}), kTIB = to({kStarting, kIdle, kBusy}), kTX = to({kStarting, kEnded}),
               kIB = to({kIdle, kBusy}), kIX = to({kIdle, kEnded}), kBX = to({kBusy, kEnded}), kBD = to({kBusy, kDraining}),
               kDX = to({kDraining, kEnded}), kDE = to({kDraining, kEnding}), kEX = to({kEnding, kEnded}),
               kTDE = to({kStarting, kDraining, kEnding}), kTI = to({kStarting, kIdle}), kTB = to({kStarting, kBusy}),
               kTIDE = to({kStarting, kIdle, kDraining, kEnding}), kTIBDE = to({kStarting, kIdle, kBusy, kDraining, kEnding});

constexpr Cell kNone = no("nothing was submitted"), kLate = no("late"), kOver = no("it has ended"),
               kNoWorker = no("no worker yet"), kKnown = no("its job is known"), kNoTime = no("no deadline of its own"),
               kNotReused = no("it is not kept warm");

// clang-format off
constexpr Cell kTable[kNewsKinds][kLeaseStates] = {
    //                        wanted submitt. queued     starting  idle    busy    drain.  ending  ended
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
    /* kSomebodyWaits */      {kNone, kNotReused, kNotReused, kDE,     kDE,    kNotReused, kNotReused, kNotReused, kOver},
    /* kTimePassed */         {kS,    kNoTime, kE,       kDE,      kDE,    kDE,    kE,     kE,     kOver},
};
// clang-format on

}  // namespace

const Cell& cell(LeaseState state, News news) { return kTable[static_cast<int>(news)][static_cast<int>(state)]; }

std::string_view word(News news) {
  constexpr std::string_view kWords[kNewsKinds] = {
      "demand came",      "demand gone",         "owner gone",       "release asked", "submitted",
      "submit refused",   "submit unclear",      "absent from a reconciliation", "job unknown", "job queued",
      "job running",      "job ending",          "job ended",        "job requeued",  "cancel done",
      "worker connected", "interpreter started", "interpreter died", "worker heard",  "worker lost",
      "somebody waits",   "time passed"};
  return kWords[static_cast<int>(news)];
}

}  // namespace pounce::lease
