#include "job/slurm_step.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace pounce::job {
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
