#include "job/slurm_reason.h"

#include <algorithm>
#include <utility>

namespace pounce::job {

// ---- limits -------------------------------------------------------------------------------------------------------

namespace {

using Of = Limit::Of;
using Per = Limit::Per;
using Thing = Limit::Thing;
using Measure = Limit::Measure;

bool take_front(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_back(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

// Slurm spells a thing differently from one name to the next: QOSMaxCpuPerJobLimit but QOSGrpCPUMinutesLimit.
constexpr std::pair<std::string_view, Thing> kThings[] = {
    {"Jobs", Thing::kJobs},
    {"SubmitJobs", Thing::kSubmitted},
    {"SubmitJob", Thing::kSubmitted},
    {"Wall", Thing::kTime},
    {"WallDuration", Thing::kTime},
    {"Cpu", Thing::kCpus},
    {"CPU", Thing::kCpus},
    {"Mem", Thing::kMemory},
    {"Memory", Thing::kMemory},
    {"Node", Thing::kNodes},
    {"GRES", Thing::kGpus},
    {"License", Thing::kLicences},
    {"BB", Thing::kStorage},
    {"Energy", Thing::kEnergy},
    {"Billing", Thing::kCharge},
    {"Unknown", Thing::kOther},
};

// The names of before 2014 do not say whose limit it is.
constexpr std::pair<std::string_view, Limit> kOld[] = {
    {"AssociationJobLimit", {Of::kAccount, Per::kEverybody, Thing::kJobs}},
    {"AssociationResourceLimit", {Of::kAccount, Per::kEverybody, Thing::kOther}},
    {"AssociationTimeLimit", {Of::kAccount, Per::kJob, Thing::kTime}},
    {"QOSJobLimit", {Of::kClass, Per::kEverybody, Thing::kJobs}},
    {"QOSResourceLimit", {Of::kClass, Per::kEverybody, Thing::kOther}},
    {"QOSTimeLimit", {Of::kClass, Per::kJob, Thing::kTime}},
};

// A limit whose name does not say is that of one user.
Per whose(std::string_view& name) {
  if (take_back(name, "PerJob")) return Per::kJob;
  if (take_back(name, "PerNode")) return Per::kNode;
  if (take_back(name, "PerAccount")) return Per::kAccount;
  take_back(name, "PerUser");
  return Per::kUser;
}

Measure measure_of(std::string_view& name) {
  if (take_back(name, "RunMinutes") || take_back(name, "RunMins")) return Measure::kRunMinutes;
  return take_back(name, "Minutes") ? Measure::kMinutes : Measure::kAtOnce;
}

}  // namespace

std::optional<Limit> limit_of(std::string_view name) {
  for (const auto& [old, limit] : kOld)
    if (name == old) return limit;
  Limit limit;
  // Limits of a class for one account, or for the minutes of one user, do not say QOS.
  const bool of_class = take_front(name, "QOS");
  if (!of_class && take_front(name, "Assoc")) limit.of = Of::kAccount;
  take_back(name, "Limit") || take_back(name, "NotSatisfied");
  const bool group = take_front(name, "Grp");
  limit.least = !group && take_front(name, "Min");
  if (!group && !limit.least && !take_front(name, "Max")) return std::nullopt;
  limit.per = group ? Per::kEverybody : limit.least ? Per::kJob : whose(name);
  limit.measure = measure_of(name);
  for (const auto& [word, thing] : kThings)
    if (name == word) {
      limit.thing = thing;
      if (group && thing == Thing::kTime) limit.measure = Measure::kMinutes;  // of all jobs, also of those that ended
      return limit;
    }
  return std::nullopt;
}

// ---- waits --------------------------------------------------------------------------------------------------------

Waiting waiting_of(const JobView& view) {
  // This sentence says more than Slurm's word, which is "Reservation" where nodes are reserved for maintenance.
  constexpr std::string_view kNodes = "ReqNodeNotAvail";
  std::string word = view.reason_word.empty() ? view.reason : view.reason_word;
  if (view.reason.starts_with(kNodes)) word = kNodes;
  return {std::move(word), view.reason, view.class_name, view.limit, view.ahead, view.eta};
}

// ---- ends ---------------------------------------------------------------------------------------------------------

namespace {

Error ended(ErrorCode code, const JobView& view, Cause cause) {
  cause.job = view.job_identity.job.value;
  Error error = error_of(code, std::move(cause), {{"job", std::to_string(view.job_identity.job.value)}});
  if (!view.nodes.empty()) error.context["node"] = view.nodes;
  if (view.signal != 0) {
    error.signal = view.signal;
    error.context["signal"] = std::to_string(view.signal);
  }
  if (view.exit_code != 0) {
    error.exit_code = view.exit_code;
    error.context["exit_code"] = std::to_string(view.exit_code);
  }
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
  Error error =
      ended(ErrorCode::kPreempted, view, {.code = CauseCode::kJobPreempted, .time = std::max(grace, grace.zero())});
  if (grace.count() > 0) error.context["grace_s"] = std::to_string(grace.count());
  return error;
}

}  // namespace

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

}  // namespace pounce::job
