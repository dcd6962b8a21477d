#include "job/job_identity.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace pounce::job {
namespace {

// Not SLURM_JOBID and SLURM_NODELIST, the older names: mpirun of Open MPI looks for these, and would start its daemons
// with srun.
constexpr std::string_view kIdentity[] = {
    "SLURM_JOB_ID",       "SLURM_JOB_NAME",     "SLURM_JOB_PARTITION", "SLURM_JOB_QOS", "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_NODELIST", "SLURM_CLUSTER_NAME", "SLURMD_NODENAME",     "SLURM_TMPDIR",  "SLURM_CONF"};
constexpr std::string_view kArray = "SLURM_ARRAY_";
constexpr std::string_view kPassed = "POUNCE_PASSED_";
constexpr char kNumber[] = "SLURM_JOB_ID", kWorkersJob[] = "POUNCE_WORKER_JOB";

// A step's own are right. Its others may be those of the step, which has a name and nodes of its own.
bool is_of_node(std::string_view name) { return name == "SLURMD_NODENAME" || name == "SLURM_TMPDIR"; }

}  // namespace

bool is_job_identity(std::string_view name) {
  return name.starts_with(kArray) || std::ranges::find(kIdentity, name) != std::end(kIdentity);
}

void pass_on_identity(const Environment& ours, Environment& worker) {
  for (const auto& [name, value] : ours)
    if (is_job_identity(name)) worker.emplace(std::string(kPassed) + name, value);
}

Environment visible_identity(const Environment& worker) {
  Environment visible;
  for (const auto& [name, value] : worker)
    if (is_job_identity(name)) visible[name] = value;
  for (const auto& [name, value] : worker) {
    const std::string passed = name.starts_with(kPassed) ? name.substr(kPassed.size()) : "";
    if (!is_job_identity(passed)) continue;
    if (is_of_node(passed))
      visible.emplace(passed, value);
    else
      visible[passed] = value;
  }
  if (const auto number = visible.find(kNumber); number != visible.end()) visible[kWorkersJob] = number->second;
  return visible;
}

std::uint32_t outer_job(const Environment& environment) {
  const std::string text = value_of(environment, kNumber);
  std::uint32_t job = 0;
  if (text != value_of(environment, kWorkersJob)) std::from_chars(text.data(), text.data() + text.size(), job);
  return job;
}

}  // namespace pounce::job
