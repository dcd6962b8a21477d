// Slurm's job states as ours: a total function. Numbers of slurm.h's enum job_states, stable in all majors from
// 22.05 to 26.05; this module does not include slurm.h, so tests/unit/slurm compares them with the installed one.
// Thread: any.
#pragma once

#include <cstdint>

#include "pounce/job.h"

namespace pounce::slurm {

struct MappedState {
  JobState state = JobState::kUnknown;
  JobEnd end = JobEnd::kNone;
};

// The base state (low 8 bits) decides; of the flags above it only COMPLETING and STAGE_OUT, CONFIGURING and
// POWER_UP_NODE, and the REQUEUE family change the answer. What this build cannot name is kUnknown, never an end.
MappedState map_job_state(std::uint32_t raw);
// Its nodes are chosen, and are switched on or run their prolog; to Slurm it waits for nothing then.
bool is_being_prepared(std::uint32_t raw);

}  // namespace pounce::slurm
