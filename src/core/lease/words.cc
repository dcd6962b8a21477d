#include "core/lease/words.h"

namespace pounce::lease {
namespace {

Error ended(ErrorCode code, const JobView& view, const std::string& what) {
  Error error{code, "Slurm job " + std::to_string(view.incarnation.job.value) + " " + what, {}, {}};
  error.context["job"] = std::to_string(view.incarnation.job.value);
  if (!view.nodes.empty()) error.context["node"] = view.nodes;
  if (view.signal != 0) error.context["signal"] = std::to_string(view.signal);
  if (view.exit_code != 0) error.context["exit_code"] = std::to_string(view.exit_code);
  if (!view.reason.empty()) error.context["slurm_reason"] = view.reason;
  return error;
}

std::string how_it_failed(const JobView& view) {
  if (view.signal != 0) return "was ended by signal " + std::to_string(view.signal) + ".";
  return "ended by itself with exit code " + std::to_string(view.exit_code) + ".";
}

Error preempted(const JobView& view, std::chrono::seconds grace) {
  const std::string seconds = std::to_string(grace.count());
  const std::string had = grace.count() > 0 ? ", with " + seconds + " s of grace to end in." : ".";
  Error error = ended(ErrorCode::kPreempted, view, "was preempted by a job that goes first" + had);
  if (grace.count() > 0) error.context["grace_s"] = seconds;
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
      return ended(ErrorCode::kJobCancelled, view, "was cancelled by somebody.");
    case JobEnd::kTimeout:
      return ended(ErrorCode::kWalltimeReached, view, "reached its time limit.");
    case JobEnd::kDeadline:
      return ended(ErrorCode::kWalltimeReached, view, "reached its deadline.");
    case JobEnd::kOutOfMemory:
      return ended(ErrorCode::kOutOfMemory, view, "used more memory than it asked for.");
    case JobEnd::kPreempted:
      return preempted(view, grace);
    case JobEnd::kNodeFail:
    case JobEnd::kBootFail:
      return ended(ErrorCode::kNodeFailed, view, "was lost with its node.");
    case JobEnd::kCompleted:
    case JobEnd::kFailed:
    case JobEnd::kNone:
      return ended(ErrorCode::kLeaseEnded, view, how_it_failed(view));
    case JobEnd::kGone:
      return ended(ErrorCode::kLeaseEnded, view, "is gone; Slurm has no record of how it ended.");
  }
  return ended(ErrorCode::kLeaseEnded, view, "ended.");
}

bool covers(const Resources& have, const Resources& want) {
  const auto fits = []<class T>(const T& has, const T& asked) { return asked == T{} || has == asked; };
  return have.workers == want.workers && have.gpus == want.gpus && fits(have.class_name, want.class_name) && fits(have.gpu_type, want.gpu_type) &&
         fits(have.cpus, want.cpus) && fits(have.memory_mib, want.memory_mib) && fits(have.time, want.time) &&
         fits(have.gpu_memory_mib, want.gpu_memory_mib) && fits(have.cuda, want.cuda) && fits(have.placement, want.placement) &&
         fits(have.not_nodes, want.not_nodes) && fits(have.account, want.account) && fits(have.reservation, want.reservation) &&
         fits(have.slurm, want.slurm);
}

}  // namespace pounce::lease
