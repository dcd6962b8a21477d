#include "slurm/slurm_job_state.h"

namespace pounce::slurm {
namespace {

constexpr std::uint32_t kBase = 0xff;  // JOB_STATE_BASE

// slurm.h: enum job_states
constexpr std::uint32_t kPending = 0, kRunning = 1, kSuspended = 2, kComplete = 3, kCancelled = 4, kFailed = 5,
                        kTimeout = 6, kNodeFail = 7, kPreempted = 8, kBootFail = 9, kDeadline = 10, kOom = 11;

// slurm.h: flags above the base
constexpr std::uint32_t kRequeue =
    (1u << 10) | (1u << 11) | (1u << 12) | (1u << 20);          // JOB_REQUEUE, _HOLD,
                                                                // JOB_SPECIAL_EXIT, JOB_REQUEUE_FED
constexpr std::uint32_t kBooting = (1u << 14) | (1u << 18);     // JOB_CONFIGURING, JOB_POWER_UP_NODE
constexpr std::uint32_t kCompleting = (1u << 15) | (1u << 23);  // JOB_COMPLETING, JOB_STAGE_OUT

JobEnd end_of(std::uint32_t base) {
  switch (base) {
    case kComplete:
      return JobEnd::kCompleted;
    case kCancelled:
      return JobEnd::kCancelled;
    case kFailed:
      return JobEnd::kFailed;
    case kTimeout:
      return JobEnd::kTimeout;
    case kNodeFail:
      return JobEnd::kNodeFail;
    case kPreempted:
      return JobEnd::kPreempted;
    case kBootFail:
      return JobEnd::kBootFail;
    case kDeadline:
      return JobEnd::kDeadline;
    case kOom:
      return JobEnd::kOutOfMemory;
    default:
      return JobEnd::kNone;
  }
}

}  // namespace

MappedState map_job_state(std::uint32_t raw) {
  const std::uint32_t base = raw & kBase;
  if (base > kOom) return {};
  if (base == kPending) return {JobState::kQueued, JobEnd::kNone};
  if (base == kRunning) return {(raw & kBooting) != 0 ? JobState::kQueued : JobState::kRunning, JobEnd::kNone};
  if (base == kSuspended) return {JobState::kRunning, JobEnd::kNone};
  // Requeued: this job identity is over, but the job will be pending again under its next restart count.
  if ((raw & kRequeue) != 0) return {JobState::kEnding, JobEnd::kNone};
  // Processes and epilog still hold the resources; the end state is known already.
  if ((raw & kCompleting) != 0) return {JobState::kEnding, end_of(base)};
  return {JobState::kEnded, end_of(base)};
}

bool is_being_prepared(std::uint32_t raw) { return (raw & kBase) == kRunning && (raw & kBooting) != 0; }

}  // namespace pounce::slurm
