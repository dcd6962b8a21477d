#include "worker/supervisor/supervisor_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "job/inside_job.h"

namespace pounce::worker {
namespace {

// A library that finds PMI_*, PMIX_*, OMPI_* or SLURM_NTASKS believes that srun or mpirun started it. Of Slurm's
// variables those that identify the job are shown again (job/inside_job.h).
constexpr std::array<std::string_view, 10> kHidden = {"SLURM_",  "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_",
                                                      "POUNCE_", "PMI_",    "PMIX_",   "OMPI_", "PMI2_"};

template <class Number>
Number number_of(const Environment& environment, const std::string& name) {
  const std::string text = value_of(environment, name);
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string devices_of(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"}) {
    const std::string devices = value_of(environment, name);
    if (!devices.empty() && devices != "NoDevFiles") return "GPU " + devices;
  }
  return {};
}

bool hidden(const std::string& name) {
  return std::any_of(kHidden.begin(), kHidden.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

JobFacts job_facts(const Environment& environment, const std::string& stand_in, const std::string& host_name) {
  JobFacts facts;
  facts.job = number_of<std::uint32_t>(environment, "SLURM_JOB_ID");
  facts.restart = number_of<std::uint32_t>(environment, "SLURM_RESTART_COUNT");
  facts.end_time_s = number_of<std::int64_t>(environment, "SLURM_JOB_END_TIME");
  facts.node = value_of(environment, "SLURMD_NODENAME");
  if (facts.node.empty()) facts.node = host_name;
  facts.devices = stand_in.empty() ? devices_of(environment) : stand_in;
  if (stand_in.empty()) facts.visible_gpus = value_of(environment, "CUDA_VISIBLE_DEVICES");
  return facts;
}

Environment for_user_code(const Environment& environment) {
  Environment shown = environment;
  std::erase_if(shown, [](const auto& entry) { return hidden(entry.first); });
  shown.merge(job::visible_identity(environment));
  return shown;
}

}  // namespace pounce::worker
