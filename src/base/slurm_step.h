// The command that runs a program on one of the nodes of a job of Slurm's, from inside that job: Slurm's own step launcher, for which
// libslurm has no public call (docs/decisions/0012-further-nodes-are-steps.md). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"

namespace pounce {

struct StepPlace {
  std::uint32_t relative = 0;         // which of the job's nodes, as srun counts them
  std::optional<std::string> gpus{};  // which of the node's it has, as CUDA_VISIBLE_DEVICES names them; nullopt: all of the job's there

  bool operator==(const StepPlace&) const = default;
};

// The program's argv goes behind it. With `gpus` it is told of these alone, and not that it is a job of Slurm's: it has a part of one.
std::vector<std::string> step_command(const std::string& job, const StepPlace& place);

// Where a lease's nodes are not all of a job's, or have a part of each: which they are. Travels in two variables of the environment of
// the lease's first process.
struct JobNodes {
  std::string job;                // Slurm's number of it
  std::vector<StepPlace> places;  // empty: the job's own nodes, in their order

  StepPlace at(std::uint32_t node) const { return node < places.size() ? places[node] : StepPlace{node}; }
};
void tell(const JobNodes& nodes, Environment& environment);
JobNodes job_nodes(const Environment& environment);  // what a batch job has of Slurm, unless it was told more

}  // namespace pounce
