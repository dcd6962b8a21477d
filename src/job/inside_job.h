// A Slurm job seen from inside it: the variables that tell a program which job it runs in, and the command that runs a
// program on one of the job's nodes. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace pounce::job {

// ---- which job it is ----------------------------------------------------------------------------------------------

// The variables by which Slurm tells a program which job it runs in. User code sees these on a worker. Slurm's other
// variables stay hidden, because libraries take them for a launch by srun (docs/slurm.md).
bool is_job_identity(std::string_view name);

// Passes them on to a worker under names of our own. Its pounce-worker would take Slurm's for a lease's job, where the
// local launcher runs inside a job; and srun writes a step's name and nodes over those of its job.
void pass_on_identity(const Environment& ours, Environment& worker);

// What user code sees of the worker's job. POUNCE_WORKER_JOB repeats its number: see outer_job().
Environment visible_identity(const Environment& worker);

// The job that this process runs in beside pounce's leases; 0: none. The worker's job is not such a job: a client in a
// task is none of its parts.
std::uint32_t outer_job(const Environment& environment);

// ---- a program on one of its nodes --------------------------------------------------------------------------------

// By Slurm's own step launcher, for which libslurm has no public call
// (docs/decisions/0012-further-nodes-are-steps.md).
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
