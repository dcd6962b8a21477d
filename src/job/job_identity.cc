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
constexpr char kNumber[] = "SLURM_JOB_ID", kName[] = "SLURM_JOB_NAME", kWorkersJob[] = "POUNCE_WORKER_JOB";

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
    if (name.starts_with(kPassed) && is_job_identity(name.substr(kPassed.size())))
      visible[name.substr(kPassed.size())] = value;
  for (const auto& [name, value] : worker)
    if (name == kName)
      visible.emplace(name, value);  // else it is a step's
    else if (is_job_identity(name))
      visible[name] = value;  // the node, for one, is the worker's own
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
