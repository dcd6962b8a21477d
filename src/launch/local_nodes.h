// How a local job starts: directly on this machine, or as a step on another node of the Slurm job that we run in.
// Reads SLURM_CONF, which srun needs. Thread: any.
#pragma once

#include <string>

#include "launch/local_room.h"
#include "pounce/job.h"

namespace pounce::launch {

// slurm_job: Slurm's number of the job that the rooms' nodes belong to. Without rooms, devices are named by their
// numbers.
JobSpec begun_on(const LocalRooms& rooms, const std::string& slurm_job, JobSpec spec, const LocalPlaces& places);
std::string node_names(const LocalRooms& rooms, const LocalPlaces& places);  // as the workers on them report them

}  // namespace pounce::launch
