#include "core/lease/job_end.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pounce::lease {
namespace {

Error ended(ErrorCode code, const JobView& view, Cause cause) {
  cause.job = view.job_identity.job.value;
  Error error = error_of(code, std::move(cause), {{"job", std::to_string(view.job_identity.job.value)}});
  if (!view.nodes.empty()) error.context["node"] = view.nodes;
  if (view.signal != 0) error.context["signal"] = std::to_string(view.signal);
  if (view.exit_code != 0) error.context["exit_code"] = std::to_string(view.exit_code);
  if (!view.reason.empty()) error.context["slurm_reason"] = view.reason;
  return error;
}

Error ended(ErrorCode code, const JobView& view, CauseCode cause) { return ended(code, view, Cause{cause}); }

Cause how_it_failed(const JobView& view) {
  if (view.exit_code == static_cast<int>(JobExit::kNoSrun)) return {CauseCode::kJobNoSrun};
  if (view.exit_code == static_cast<int>(JobExit::kSrunFailed)) return {CauseCode::kJobSrunFailed};
  if (view.signal != 0) return {.code = CauseCode::kJobSignal, .number = static_cast<std::uint32_t>(view.signal)};
  return {.code = CauseCode::kJobExited, .number = static_cast<std::uint32_t>(view.exit_code)};
}

Error preempted(const JobView& view, std::chrono::seconds grace) {
  Error error = ended(ErrorCode::kPreempted, view, {.code = CauseCode::kJobPreempted, .time = std::max(grace, grace.zero())});
  if (grace.count() > 0) error.context["grace_s"] = std::to_string(grace.count());
  return error;
}

}  // namespace

bool clear_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadRequest:
    case ErrorCode::kUnknownClass:
    case ErrorCode::kNoAssociation:
    case ErrorCode::kUnsatisfiable:
    case ErrorCode::kRejected:
    case ErrorCode::kNoSlurm:
    case ErrorCode::kVersionMismatch:  // no pounce-slurm that fits: Slurm was not asked
    case ErrorCode::kSlurmConfig:
    case ErrorCode::kRefusesRoot:
    case ErrorCode::kDaemonUnavailable:  // it could not write its journal: no job was asked for
      return true;
    default:
      return false;
  }
}

Error error_of_end(const JobView& view, std::chrono::seconds grace) {
  switch (view.end) {
    case JobEnd::kCancelled:
      return ended(ErrorCode::kJobCancelled, view, CauseCode::kJobCancelled);
    case JobEnd::kTimeout:
      return ended(ErrorCode::kWalltimeReached, view, CauseCode::kJobTimeLimit);
    case JobEnd::kDeadline:
      return ended(ErrorCode::kWalltimeReached, view, CauseCode::kJobDeadline);
    case JobEnd::kOutOfMemory:
      return ended(ErrorCode::kOutOfMemory, view, CauseCode::kJobMemory);
    case JobEnd::kPreempted:
      return preempted(view, grace);
    case JobEnd::kNodeFail:
    case JobEnd::kBootFail:
      return ended(ErrorCode::kNodeFailed, view, CauseCode::kJobNodeLost);
    case JobEnd::kCompleted:
    case JobEnd::kFailed:
    case JobEnd::kNone:
      return ended(ErrorCode::kLeaseEnded, view, how_it_failed(view));
    case JobEnd::kNotStarted:
      return ended(ErrorCode::kLeaseEnded, view, {.code = CauseCode::kJobNotStarted, .node = view.nodes});
    case JobEnd::kGone:
      return ended(ErrorCode::kLeaseEnded, view, CauseCode::kJobGone);
  }
  return ended(ErrorCode::kLeaseEnded, view, CauseCode::kJobEnded);
}

bool is_of_srun(const Error& end) {
  return end.cause.code == CauseCode::kJobNoSrun || end.cause.code == CauseCode::kJobSrunFailed;
}

bool covers(const Resources& have, const Resources& asked_for) {
  Resources request = asked_for.of_one_lease();
  if (request.cpus == 1) request.cpus = 0;  // every job has one: Slurm does not tell whether it was asked for
  if (have.workers != request.workers || have.gpus != request.gpus) return false;
  bool fits = true;
  for_each_field(request, [&](const auto& field, const auto& asked) {
    const bool says_nothing = asked == std::remove_cvref_t<decltype(asked)>{};
    fits = fits && (says_nothing || field.get(have) == asked);
  });
  return fits;
}

}  // namespace pounce::lease
