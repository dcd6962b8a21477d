#include "job/inside_job.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace pounce::job {

// ---- which job it is ----------------------------------------------------------------------------------------------

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

// ---- a program on one of its nodes --------------------------------------------------------------------------------

namespace {

constexpr char kJob[] = "POUNCE_STEP_JOB",
               kPlaces[] = "POUNCE_STEP_PLACES";  // "0:0,1;2:": no variable of Slurm's has this

std::string text_of(const StepPlace& place) {
  return std::to_string(place.relative) + (place.gpus ? ":" + *place.gpus : "");
}

StepPlace place_of(const std::string& text) {
  StepPlace place;
  std::from_chars(text.data(), text.data() + text.size(), place.relative);
  if (const auto colon = text.find(':'); colon != std::string::npos) place.gpus = text.substr(colon + 1);
  return place;
}

}  // namespace

std::vector<std::string> step_command(const std::string& job, const StepPlace& place) {
  // --overlap: the step shares what the job has with the job's other steps, should its tasks start some. No binding:
  // the workers share out the processors themselves.
  std::vector<std::string> command = {"srun",
                                      "--jobid=" + job,
                                      "--overlap",
                                      "--relative=" + std::to_string(place.relative),
                                      "--nodes=1",
                                      "--ntasks=1",
                                      "--ntasks-per-node=1",
                                      "--cpu-bind=none",
                                      "--mpi=none",
                                      "--input=none",
                                      "--kill-on-bad-exit=0",
                                      "--export=ALL",
                                      "--job-name=pounce-worker"};
  if (!place.gpus) return command;
  command.push_back("env");
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_END_TIME", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS"})
    command.insert(command.end(), {"-u", name});
  command.push_back("CUDA_VISIBLE_DEVICES=" + *place.gpus);
  return command;
}

void tell(const JobNodes& nodes, Environment& environment) {
  environment[kJob] = nodes.job;
  environment[kPlaces] = joined(nodes.places, ";", text_of);
}

JobNodes job_nodes(const Environment& environment) {
  JobNodes nodes{value_of(environment, kJob), {}};
  if (nodes.job.empty()) return {value_of(environment, "SLURM_JOB_ID"), {}};
  const std::string places = value_of(environment, kPlaces);
  for (std::size_t begin = 0; begin < places.size();) {
    const std::size_t end = std::min(places.find(';', begin), places.size());
    nodes.places.push_back(place_of(places.substr(begin, end - begin)));
    begin = end + 1;
  }
  return nodes;
}

}  // namespace pounce::job
