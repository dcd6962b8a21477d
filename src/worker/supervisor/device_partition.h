// One worker's part of what the batch system gave to the whole job. Thread: any, before there are others.
#pragma once

#include <cstdint>

#include "pounce/ids.h"
#include "worker/supervisor/job_environment.h"

namespace pounce::worker {

// Cuts the lists of devices (CUDA_VISIBLE_DEVICES and its relatives) down to this worker's part. A list that cannot
// be divided evenly stays.
Environment device_partition(Environment environment, WorkerIndex worker, std::uint32_t workers);

// Runs this process, and so its interpreter, on its part of the job's CPUs, because numerical libraries start a
// thread for each CPU that they see. Does so only where the batch system confines the job to its CPUs and they divide
// evenly.
void take_cpu_partition(const Environment& environment, WorkerIndex worker, std::uint32_t workers);

}  // namespace pounce::worker
