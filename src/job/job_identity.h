// The variables by which Slurm tells a program which job it runs in. User code sees these on a worker. Slurm's other
// variables stay hidden, because libraries take them for a launch by srun (docs/slurm.md). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process.h"

namespace pounce::job {

bool is_job_identity(std::string_view name);

// Passes them on to a worker under names of our own. Its pounce-worker would take Slurm's for a lease's job, where the
// local launcher runs inside a job; and srun writes a step's name and nodes over those of its job.
void pass_on_identity(const Environment& ours, Environment& worker);

// What user code sees of the worker's job. POUNCE_WORKER_JOB repeats its number: see outer_job().
Environment visible_identity(const Environment& worker);

// The job that this process runs in beside pounce's leases; 0: none. The worker's job is not such a job: a client in a
// task is none of its parts.
std::uint32_t outer_job(const Environment& environment);

}  // namespace pounce::job
