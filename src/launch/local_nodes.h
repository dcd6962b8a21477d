// How a local job is begun where it lies: by itself on this machine, as a step on another node of the Slurm job that we run in. Reads
// SLURM_CONF, which srun needs. Thread: any.
#pragma once

#include <string>

#include "launch/local_room.h"
#include "pounce/job.h"

namespace pounce::launch {

// slurm_job: Slurm's number of the job whose nodes the rooms are. Without rooms devices have their numbers.
JobSpec begun_on(const LocalRooms& rooms, const std::string& slurm_job, JobSpec spec, const LocalPlaces& places);
std::string node_names(const LocalRooms& rooms, const LocalPlaces& places);  // as its workers call them

}  // namespace pounce::launch
