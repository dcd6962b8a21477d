// Bugs that are planted in the simulator's shells, one at a time: the simulation must find each of them.
#pragma once

#include <cstdint>

namespace pounce::simulator {

// X(enumerator, what is wrong)
#define POUNCE_PLANTED_BUGS(X)                                                                   \
  /* pounced */                                                                                  \
  X(kNoReconcile, "every reconciliation is answered with 'nothing there'")                       \
  X(kNobodyYields, "an idle lease whose variables are saved is kept for its usual time")         \
  X(kIdleTimerLost, "a restarted daemon never gives idle leases back")                           \
  X(kInstanceIgnored, "the tag's instance is not looked at")                                     \
  X(kCancelOnce, "a cancel is sent once and never again")                                        \
  X(kSilenceIgnored, "a dead kernel counts as heard")                                            \
  X(kJournalAfter, "the intent is written, but not before the submission")                       \
  X(kEndToldOnce, "the end of a lease is told to its owner, and to no later holder")             \
  /* the client */                                                                               \
  X(kAckedTooEarly, "an outcome is acknowledged before it is whole")                             \
  X(kNoQuery, "nothing is asked after a reconnection")                                           \
  X(kUnknownIgnored, "the worker's answer that it does not know a task is ignored")              \
  X(kAttemptNotSent, "every attempt is sent as the first")                                       \
  X(kRetriedUnasked, "a lost task runs again without permission")                                \
  X(kCancelForgotten, "a cancel is not repeated after a reconnection")                           \
  X(kKeyIgnored, "a grant with another key is taken for the interpreter that is known")          \
  X(kDemandOnce, "the demand is not repeated to a new daemon")                                   \
  X(kPoolKept, "leases of a pool that nothing needs are told as needed")                         \
  X(kPoolLostWhole, "with one lease of a pool all of them count as lost")                        \
  /* the worker */                                                                               \
  X(kOutcomesDropped, "kept outcomes are dropped when their client connects again")              \
  X(kDoneNotSent, "a client that asks is told that a task is done, and is not sent its outcome") \
  X(kStartedNotTold, "nobody is told that a task runs")                                          \
  X(kRunsAgain, "acknowledged tasks are not remembered")                                         \
  X(kOldConnectionHeard, "a late message of a connection that is over is acted on")              \
  X(kOutcomeToAll, "an outcome is sent to every client that is admitted")                        \
  /* its supervisor */                                                                           \
  X(kDismissKept, "a dismissal does not reach the interpreter")                                  \
  X(kTooFewLost, "a crash is told with one started task too few")                                \
  X(kBusyForever, "tasks of a dead interpreter count as running")                                \
  X(kOldLink, "a worker that comes back speaks by its old link")                                 \
  X(kLeavesInSilence, "what a worker that leaves idle had not started is not told")

enum class Bug : std::uint8_t {
  kNone,
#define POUNCE_BUG(enumerator, what) enumerator,
  POUNCE_PLANTED_BUGS(POUNCE_BUG)
#undef POUNCE_BUG
};

}  // namespace pounce::simulator
