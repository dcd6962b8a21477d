// Why something is in its state, or ended: a code and its numbers. The core, the wire, the journal and the status
// document carry causes; src/messages turns them into sentences for users. No code parses a sentence. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "pounce/fields.h"

namespace pounce {

// X(enumerator, word), with its arguments in the comment; src/messages/sentence.cc has its sentence.
#define POUNCE_CAUSES(X)                                                                 \
  X(kNone, "none")                                                                       \
  X(kSaid, "said") /* said: from outside of pounce */                                    \
  /* a lease that waits */                                                               \
  X(kAboutToAsk, "about_to_ask")                                                         \
  X(kAsking, "asking")                                                                   \
  X(kLooking, "looking")                                                                 \
  X(kSlurmWaits, "slurm_waits")   /* word: Slurm's; more in the status */                \
  X(kSlurmSilent, "slurm_silent") /* because */                                          \
  X(kStartRate, "start_rate")     /* number: in an hour */                               \
  X(kRetrySoon, "retry_soon")     /* because */                                          \
  X(kReleasedByUser, "released_by_user")                                                 \
  X(kCancelledOutside, "cancelled_outside")                                              \
  /* a lease that has its job */                                                         \
  X(kJobStarts, "job_starts")                                                            \
  X(kInterpreterStarts, "interpreter_starts")                                            \
  X(kReady, "ready")                                                                     \
  X(kKept, "kept")                                                                       \
  X(kKeptShortly, "kept_shortly")                                                        \
  X(kPreempted, "preempted")                                                             \
  X(kEnds, "ends")                                                                       \
  /* why pounce ended it */                                                              \
  X(kNothingWaits, "nothing_waits")                                                      \
  X(kIdle, "idle")                                                                       \
  X(kReleasedWhenIdle, "released_when_idle")                                             \
  X(kReleased, "released")            /* word: by whom */                                \
  X(kCancelled, "cancelled")          /* word: by whom */                                \
  X(kOtherJobWaits, "somebody_waits") /* number: of GPUs that it gives back */           \
  X(kOtherResources, "other_resources")                                                  \
  X(kAnotherServes, "another_serves")                                                    \
  X(kSessionClosed, "session_closed")                                                    \
  X(kSessionSilent, "session_silent")                                                    \
  X(kUnclaimed, "unclaimed")                                                             \
  X(kNoInterpreter, "no_interpreter")                                                    \
  X(kInterpreterDied, "interpreter_died") /* number: so often; because */                \
  X(kWorkerSilent, "worker_silent")       /* node, time */                               \
  X(kUnknownToSlurm, "unknown_to_slurm")  /* job, or 0 */                                \
  X(kLeaseOver, "lease_over")                                                            \
  X(kEndedUnseen, "ended_unseen")                                                        \
  X(kNotSubmitted, "not_submitted")                                                      \
  X(kWorkerTooMany, "worker_too_many")                                                   \
  X(kWorkerReplaced, "worker_replaced")                                                  \
  /* how its job ended: job */                                                           \
  X(kJobCancelled, "job_cancelled")                                                      \
  X(kJobTimeLimit, "job_time_limit")                                                     \
  X(kJobDeadline, "job_deadline")                                                        \
  X(kJobMemory, "job_memory")                                                            \
  X(kJobPreempted, "job_preempted") /* time: of grace */                                 \
  X(kJobNodeLost, "job_node_lost")                                                       \
  X(kJobSignal, "job_signal") /* number: the signal's number */                          \
  X(kJobExited, "job_exited") /* number: the exit code */                                \
  X(kJobNoSrun, "job_no_srun")                                                           \
  X(kJobSrunFailed, "job_srun_failed")                                                   \
  X(kJobNotStarted, "job_not_started") /* node */                                        \
  X(kJobGone, "job_gone")                                                                \
  X(kJobEnded, "job_ended")                                                              \
  X(kJobRequeued, "job_requeued")                                                        \
  /* how a worker's interpreter ended: node */                                           \
  X(kWorkerMemory, "worker_memory") /* number: MiB that it may have, or 0 */             \
  X(kTaskDidNotStop, "task_did_not_stop")                                                \
  X(kDidNotStart, "did_not_start")   /* said: its command */                             \
  X(kDiedOfSignal, "died_of_signal") /* word: its name; said: what it means */           \
  X(kEndedItself, "ended_itself")    /* number: the exit code */                         \
  /* how a task ended without an answer of its own */                                    \
  X(kTaskCancelled, "task_cancelled")                                                    \
  X(kMayHaveRun, "may_have_run") /* because, or nothing */                               \
  X(kForgotten, "forgotten")                                                             \
  X(kUnreachableTooLong, "unreachable_too_long")                                         \
  X(kPythonStartedAnew, "python_started_anew")                                           \
  X(kJobStartedTwice, "job_started_twice")                                               \
  X(kClientClosed, "client_closed")                                                      \
  X(kSubmittedLate, "submitted_late") /* the client was closed before */                 \
  X(kRelayed, "relayed")              /* node, time: that it stays there */              \
  X(kNotWritten, "not_written")       /* said: what cannot be written, and why */        \
  X(kNotFetched, "not_fetched")       /* word: its name; time */                         \
  /* a limit of a class that a request would meet. word: the class; number: the limit */ \
  X(kClassWithoutGpu, "class_without_gpu")                                               \
  X(kClassGpusOfJob, "class_gpus_of_job")                                                \
  X(kClassGpusOfUser, "class_gpus_of_user")                                              \
  X(kClassTime, "class_time")            /* time */                                      \
  X(kClassJobsTaken, "class_jobs_taken") /* used */                                      \
  X(kClassGpusTaken, "class_gpus_taken") /* used */                                      \
  /* what happened to a lease: lines of its history */                                   \
  X(kWanted, "wanted")   /* word: the session */                                         \
  X(kClaimed, "claimed") /* word: the session */                                         \
  X(kSubmitted, "submitted")                                                             \
  X(kInQueue, "in_queue") /* job */                                                      \
  X(kJobRuns, "job_runs") /* job */                                                      \
  X(kSlurmEndsJob, "slurm_ends_job")                                                     \
  X(kOutcomeUnknown, "outcome_unknown") /* because */                                    \
  X(kUnknownState, "unknown_state")     /* word: Slurm's */                              \
  X(kFirstHeardOf, "first_heard_of")                                                     \
  X(kFound, "found")                                                                     \
  X(kNotFound, "not_found")                                                              \
  X(kReadFromJournal, "read_from_journal") /* word: its state; because, or nothing */    \
  X(kIgnored, "ignored")                   /* word: the news; said: why (states.md) */   \
  X(kToBeYielded, "to_be_yielded")                                                       \
  X(kToBeReleased, "to_be_released")                                                     \
  X(kCancelDone, "cancel_done")                                                          \
  X(kCancelFailed, "cancel_failed") /* because */                                        \
  X(kWarned, "warned")                                                                   \
  X(kWorkerHere, "worker_here")                                                          \
  X(kWorkerConnected, "worker_connected")       /* number: which; node */                \
  X(kWorkerDisconnected, "worker_disconnected") /* number: which */                      \
  X(kWorkersSilent, "workers_silent")           /* number: how many it has */            \
  X(kWorkerDied, "worker_died")                 /* number: which; because */             \
  X(kStartedAgain, "started_again")                                                      \
  X(kTasksWait, "tasks_wait")                                                            \
  X(kTaskArrived, "task_arrived")

enum class CauseCode : std::uint8_t {
#define POUNCE_CAUSE(enumerator, word) enumerator,
  POUNCE_CAUSES(POUNCE_CAUSE)
#undef POUNCE_CAUSE
};

// A later version's word reads as `none`: an error still has its code, a state its name.
constexpr auto words(CauseCode) {
#define POUNCE_CAUSE(enumerator, word) word,
  return words_of<CauseCode>({POUNCE_CAUSES(POUNCE_CAUSE)}, CauseCode::kNone);
#undef POUNCE_CAUSE
}

// The list above names each code's arguments; the others are empty.
struct Cause {
  CauseCode code = CauseCode::kNone;
  std::uint32_t job{};
  std::uint32_t number{}, used{};
  std::chrono::seconds time{};
  std::string node{};
  std::string word{};            // a name: of a state, of the requesting user
  std::string said{};            // text from outside, as it came
  std::vector<Cause> because{};  // the underlying cause: none or one

  explicit operator bool() const { return code != CauseCode::kNone; }
  bool operator==(const Cause&) const = default;

  static constexpr auto fields() {
    return table(field("code", &Cause::code, "a word of the list in `pounce/cause.h`"),
                 field("job", &Cause::job, "Slurm's number").only_if_set(),
                 field("number", &Cause::number, "how many, or which").only_if_set(),
                 field("used", &Cause::used, "of that many, by this user").only_if_set(),
                 field("time_s", &Cause::time, "how long").only_if_set(), field("node", &Cause::node).only_if_set(),
                 field("word", &Cause::word, "a name: of a state, of who asked").only_if_set(),
                 field("said", &Cause::said, "text from outside, as it came").only_if_set(),
                 field("because", &Cause::because, "what lies behind it: none or one").only_if_set());
  }
};

}  // namespace pounce
