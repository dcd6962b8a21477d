// Maps Slurm's job states to ours, as a total function. The numbers are those of slurm.h's enum job_states, stable in
// all majors from 22.05 to 26.05. This module does not include slurm.h, so tests/unit/slurm compares them with the
// installed one. Thread: any.
#pragma once

#include <cstdint>

#include "pounce/job.h"

namespace pounce::slurm {

struct MappedState {
  JobState state = JobState::kUnknown;
  JobEnd end = JobEnd::kNone;
};

// The base state (low 8 bits) decides. Of the flags above it only COMPLETING and STAGE_OUT, CONFIGURING and
// POWER_UP_NODE, and the REQUEUE family change the result. An unknown state is kUnknown, never an end.
MappedState map_job_state(std::uint32_t raw);
// The job's nodes are chosen and are powering up or running their prolog; Slurm gives no wait reason then.
bool is_being_prepared(std::uint32_t raw);

}  // namespace pounce::slurm
