// Slurm's values as ours: the states of jobs and the GPUs of nodes (GRES). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/job.h"

namespace pounce::slurm {

// A total function over the numbers of slurm.h's enum job_states, stable in all majors from 22.05 to 26.05; this
// module does not include slurm.h, so tests/unit/slurm compares them with the installed one.
struct MappedState {
  JobState state = JobState::kUnknown;
  JobEnd end = JobEnd::kNone;
};

// The base state (low 8 bits) decides. Of the flags above it only COMPLETING and STAGE_OUT, CONFIGURING and
// POWER_UP_NODE, and the REQUEUE family change the result. An unknown state is kUnknown, never an end.
MappedState map_job_state(std::uint32_t raw);
// The job's nodes are chosen and are powering up or running their prolog; Slurm gives no wait reason then.
bool is_being_prepared(std::uint32_t raw);

// GPUs as Slurm writes them for a node: "gpu:a100:2(S:0-1),gpu:a100_3g.20gb:2(IDX:0,3)".
// Counts by type; the type is empty if the site names none. Ignores everything but GPUs.
std::map<std::string, std::uint32_t> gpus_of(std::string_view gres);

}  // namespace pounce::slurm
