// The command that runs a program on one node of a Slurm job, from inside that job: Slurm's own step launcher, for
// which libslurm has no public call (docs/decisions/0012-further-nodes-are-steps.md). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"

namespace pounce::job {

struct StepPlace {
  std::uint32_t relative = 0;  // which of the job's nodes, as srun counts them
  // Which of the node's GPUs the place has, as CUDA_VISIBLE_DEVICES names them; nullopt: all that the job has there.
  std::optional<std::string> gpus{};

  bool operator==(const StepPlace&) const = default;
};

// The program's argv goes behind it. With `gpus` the program sees these alone, and does not see that it runs in a Slurm
// job: it has a part of one.
std::vector<std::string> step_command(const std::string& job, const StepPlace& place);

// A lease's nodes, where they are not all nodes of a job or have a part of each. They travel in two environment
// variables of the lease's first process.
struct JobNodes {
  std::string job;                // Slurm's number of it
  std::vector<StepPlace> places;  // empty: the job's own nodes, in their order

  StepPlace at(std::uint32_t node) const { return node < places.size() ? places[node] : StepPlace{node}; }
};
void tell(const JobNodes& nodes, Environment& environment);
JobNodes job_nodes(const Environment& environment);  // without those variables: all nodes of the batch job

}  // namespace pounce::job
