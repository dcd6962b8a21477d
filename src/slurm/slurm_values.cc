#include "slurm/slurm_values.h"

#include <algorithm>
#include <charconv>

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

namespace {

// Commas also occur inside parentheses.
std::string without_parentheses(std::string_view text) {
  std::string bare;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) bare += c;
    depth -= c == ')' ? 1 : 0;
  }
  return bare;
}

void add_one(std::string_view entry, std::map<std::string, std::uint32_t>& gpus) {
  constexpr std::string_view kGpu = "gpu";
  if (!entry.starts_with(kGpu) || (entry.size() > kGpu.size() && entry[kGpu.size()] != ':')) return;
  entry.remove_prefix(std::min(entry.size(), kGpu.size() + 1));
  const auto colon = entry.rfind(':');
  const std::string_view last = colon == std::string_view::npos ? entry : entry.substr(colon + 1);
  std::uint32_t count = 0;
  const bool is_number =
      std::from_chars(last.data(), last.data() + last.size(), count).ptr == last.data() + last.size() && !last.empty();
  if (!is_number) count = 1;  // "gpu", or "gpu:a100": one
  const std::string type(is_number ? entry.substr(0, colon == std::string_view::npos ? 0 : colon) : entry);
  gpus[type] += count;
}

}  // namespace

std::map<std::string, std::uint32_t> gpus_of(std::string_view gres) {
  std::map<std::string, std::uint32_t> gpus;
  const std::string bare = without_parentheses(gres);
  for (std::size_t begin = 0; begin <= bare.size();) {
    const std::size_t end = std::min(bare.find(',', begin), bare.size());
    add_one(std::string_view(bare).substr(begin, end - begin), gpus);
    begin = end + 1;
  }
  return gpus;
}

}  // namespace pounce::slurm
