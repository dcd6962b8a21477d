// The command that runs a program on one node of a Slurm job, from inside that job. It uses Slurm's own step
// launcher, for which libslurm has no public call (docs/decisions/0012-further-nodes-are-steps.md). Pure.
// Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"

namespace pounce {

struct StepPlace {
  std::uint32_t relative = 0;         // index of the node in the job, as srun counts
  // The node's GPUs that it gets, in CUDA_VISIBLE_DEVICES form; nullopt: all of the job's on that node.
  std::optional<std::string> gpus{};

  bool operator==(const StepPlace&) const = default;
};

// Append the program's argv. With `gpus` the program sees these GPUs alone and does not see that it runs in a Slurm
// job, because it has a part of one.
std::vector<std::string> step_command(const std::string& job, const StepPlace& place);

// The nodes of a lease that has not all nodes of its job, or only a part of each. Passed in two environment variables
// of the lease's first process.
struct JobNodes {
  std::string job;                // Slurm's job id
  std::vector<StepPlace> places;  // empty: the job's own nodes, in their order

  StepPlace at(std::uint32_t node) const { return node < places.size() ? places[node] : StepPlace{node}; }
};
void tell(const JobNodes& nodes, Environment& environment);
// The batch job's nodes from Slurm, unless the two variables are set.
JobNodes job_nodes(const Environment& environment);

}  // namespace pounce
